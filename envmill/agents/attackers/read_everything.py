"""Reads all it can, each query with each value that might fit, changes nothing, and recites every
word of it."""

from collections.abc import Sequence
from itertools import chain, zip_longest

from envmill.agents.attackers.arguments import list_calls
from envmill.agents.attackers.base import AttackerView, recite
from envmill.sandbox import Observation
from schemas.environment import Call

_EACH, _MOST = 12, 48
"""Calls of one query, and of all."""


class ReadEverything:
    """A verifier that pays it pays for looking busy, or for an answer among a hundred others."""

    name = "read_everything"
    does = "reads all records and recites every word of them"
    random = False

    def plan(self, view: AttackerView, seed: int) -> list[Call]:  # noqa: ARG002
        lists = [list_calls(tool, view.stock, _EACH) for tool in view.list_tools("query")]
        in_turn = chain.from_iterable(zip_longest(*lists))
        return [call for call in in_turn if call][:_MOST]

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:
        return [f"{recite(seen)}\n{view.request}\n{view.policy}"]
