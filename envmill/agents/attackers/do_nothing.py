"""Calls nothing and says nothing."""

from collections.abc import Sequence

from envmill.agents.attackers.base import AttackerView
from envmill.sandbox import Observation
from schemas.environment import Call


class DoNothing:
    """A verifier that pays it pays for the state as it was."""

    name = "do_nothing"
    does = "calls nothing and says nothing"
    random = False

    def plan(self, view: AttackerView, seed: int) -> list[Call]:  # noqa: ARG002
        return []

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:  # noqa: ARG002
        return []
