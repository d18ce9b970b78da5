"""The sandbox: the flow process's door to the jail. The processes behind the door are `envmill/runtime/jail/`."""

from envmill.sandbox.plan import Advance, Invoke, Look, Observation, Program, Reset, Step
from envmill.sandbox.sandbox import Sandbox, Session

__all__ = ["Advance", "Invoke", "Look", "Observation", "Program", "Reset", "Sandbox", "Session", "Step"]
