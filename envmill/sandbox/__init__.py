"""The sandbox: the flow process's door to the jail. The processes behind the door are `envmill/runtime/jail/`."""

from envmill.sandbox.hearing import Hearing, Statement
from envmill.sandbox.plan import Advance, Changes, Fetch, Invoke, Look, Observation, Program, Reset, Restore, Snapshot, Step, Touched
from envmill.sandbox.sandbox import Sandbox, Session

__all__ = [
    "Advance",
    "Changes",
    "Fetch",
    "Hearing",
    "Invoke",
    "Look",
    "Observation",
    "Program",
    "Reset",
    "Restore",
    "Sandbox",
    "Session",
    "Snapshot",
    "Statement",
    "Step",
    "Touched",
]
