"""The jail's client. In an exported folder this file is that client itself, which stands alone."""

from envmill.runtime.jail.client import Environment, Jail, JailError, Message, Session

__all__ = ["Environment", "Jail", "JailError", "Message", "Session"]
