"""What an agent is told first. In an exported folder this file is the runtime's own, which stands
alone."""

from envmill.runtime.briefing import brief, brief_user

__all__ = ["brief", "brief_user"]
