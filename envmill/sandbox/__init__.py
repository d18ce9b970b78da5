"""The sandbox: the flow process's door to the jail. The processes behind the door are
`envmill/runtime/jail/`."""

from envmill.sandbox.check_session import CheckReply, CheckSession
from envmill.sandbox.plan import (
    Advance,
    Changes,
    Fetch,
    Invoke,
    Look,
    Observation,
    Program,
    Reset,
    Restore,
    Snapshot,
    Step,
    Touched,
)
from envmill.sandbox.sandbox import Sandbox, Session

__all__ = [
    "Advance",
    "Changes",
    "CheckReply",
    "CheckSession",
    "Fetch",
    "Invoke",
    "Look",
    "Observation",
    "Program",
    "Reset",
    "Restore",
    "Sandbox",
    "Session",
    "Snapshot",
    "Step",
    "Touched",
]
