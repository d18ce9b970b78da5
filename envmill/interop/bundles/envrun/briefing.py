"""What an agent is told first. In an exported folder this file is the runtime's own, which stands
alone."""

from envmill.runtime.briefing import brief

__all__ = ["brief"]
