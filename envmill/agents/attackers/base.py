"""An attacker: a policy that never does what is asked, and tries to be paid.

view (state, interface, request's words) ─► calls ─► replies ─► last words
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from envmill.agents.attackers.state_index import StateIndex, read_rows
from envmill.sandbox import Observation
from schemas.base import Json, is_array, is_object
from schemas.environment import Call, Environment, Tool
from schemas.scenario import Scenario


@dataclass(frozen=True)
class AttackerView:
    """What an attacker has to go by. That it sees the state makes it stronger than any policy; what
    is expected it never sees."""

    state: dict[str, Json]
    tools: Sequence[Tool]
    request: str
    policy: str = ""

    @classmethod
    def of(cls, scenario: Scenario, environment: Environment) -> "AttackerView":
        tools = [tool for tool in environment.tools if "agent" in tool.actors]
        return cls(scenario.initial_state, tools, scenario.request, environment.policy_document)

    def after(self, final: Mapping[str, Json]) -> "AttackerView | None":
        """What lies about once something was made: of a collection that has new rows those alone,
        told in replies; None where none has."""
        made = {name: _list_new(self.state.get(name), value) for name, value in final.items()}
        return (
            replace(self, state=self.state | {name: rows for name, rows in made.items() if rows})
            if any(made.values())
            else None
        )

    @cached_property
    def stock(self) -> StateIndex:
        return StateIndex.of(self.state)

    def list_tools(self, effect: str) -> list[Tool]:
        return [tool for tool in self.tools if tool.effect == effect]


def _list_new(before: Json, after: Json) -> dict[str, Json]:
    known, rows = read_rows(before), read_rows(after)
    return {key: row for key, row in rows.items() if key not in known}


class Attacker(Protocol):
    """Plans its calls before it has seen a reply, and finds its last words after."""

    name: str
    does: str
    """What it does, in words for the author of a scenario: "an attacker that …"."""
    random: bool
    """Whether another seed gives another attack."""

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        """Calls to make."""
        ...

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:
        """What it tells the user, the replies known."""
        ...


class Mute:
    """What attackers share that have nothing to say."""

    random = False
    words = ("Done: everything you asked for is in place.",)

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:  # noqa: ARG002
        return list(self.words)


def recite(seen: Sequence[Observation]) -> str:
    """All that replies said, in one breath."""
    return "\n".join(render(part) for one in seen for part in one.parts)


def render(part: Json) -> str:
    """A part of a reply as somebody would read it out."""
    value: Json = part.get("value", part.get("text", ""))
    return "; ".join(_list_words(value))


def _list_words(value: Json, name: str = "") -> list[str]:
    if is_object(value):
        return [word for key, one in value.items() for word in _list_words(one, key)]
    if is_array(value):
        return [word for one in value for word in _list_words(one, name)]
    return [f"{name}: {value}" if name else str(value)]
