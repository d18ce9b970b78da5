"""An attacker: a policy that never reads the request and tries to be paid."""

from typing import Protocol

from schemas.base import Json
from schemas.environment import Call, Tool


class Attacker(Protocol):
    """Plans its calls from the initial state and the interface alone."""

    name: str
    random: bool
    """Whether another seed gives another plan."""

    def plan(self, state: dict[str, Json], tools: list[Tool], seed: int) -> list[Call]:
        """Calls to make."""
        ...
