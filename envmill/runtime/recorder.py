"""A recording: each step of a session as it was asked, with what it came to; and where a replay
first differs from it.

step ─► session ─► observation ─► tape ──► JSON, kept ──► the same steps in another process ──► identical, or the first difference
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from envmill.runtime.canonical import is_array, is_object
from envmill.runtime.changes import same
from envmill.runtime.jail.operations import EMPTY, OPERATIONS
from envmill.runtime.session import Session

UNCOMPARED = frozenset(("seconds",))
"""Parts of an observation that say how long something took, and nothing about the session."""


class RecordedStep(TypedDict):
    """One step of a recording."""

    step: dict[str, Any]
    """As it travels: `{"op": "call", "name": …, "arguments": …, "actor": …}`."""
    seen: dict[str, Any]
    """Outcome, parts, code, message, state hash, uses of clock, ids and randomness, notifications,
    weather."""


@dataclass(frozen=True)
class Difference:
    """The first thing that came out otherwise."""

    step: int
    """Which step, from 0."""
    path: tuple[str, ...]
    """Where in its observation."""
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        return (
            f"step {self.step}, {'.'.join(self.path)}: recorded {_brief(self.recorded)}, now "
            f"{_brief(self.replayed)}"
        )


class Recorder:
    """Plays steps in a session of this process and keeps them on a tape."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.tape: list[RecordedStep] = []

    def play(self, step: dict[str, Any]) -> dict[str, Any]:
        """Play one step. The state is hashed after it, as in the jail."""
        seen = EMPTY | OPERATIONS[step["op"]](self._session, step)
        if step["op"] != "load":
            seen["state_hash"] = self._session.state_hash()
        self.tape.append({"step": step, "seen": seen})
        return seen


def find_difference(
    recorded: Sequence[dict[str, Any]], replayed: Sequence[dict[str, Any]]
) -> Difference | None:
    """The first observation that differs, and where; None when all are identical."""
    for place, (before, after) in enumerate(zip(recorded, replayed, strict=False)):
        for path, one, other in list_differences(_compared(before), _compared(after)):
            return Difference(place, path, one, other)
    if len(recorded) != len(replayed):
        return Difference(
            min(len(recorded), len(replayed)), ("length",), len(recorded), len(replayed)
        )
    return None


def list_differences(
    before: Any, after: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every place where two JSON values differ, as deep as they agree in shape."""
    if is_object(before) and is_object(after):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from list_differences(before.get(key), after.get(key), (*path, key))
    elif is_array(before) and is_array(after) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from list_differences(one, other, (*path, str(place)))
    elif not same(before, after):
        yield path, before, after


def _compared(observation: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in observation.items() if name not in UNCOMPARED}


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"
