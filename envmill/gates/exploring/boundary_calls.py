"""Boundary cases: calls on states in which one value was moved, so that faults show that ordinary
calls seldom show.

comparison both sides of a comparison in the code are equal: only then `<` and `<=` differ earlier
value a number that the tool sets was another one before: at zero, adding and replacing are the same
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.gates.exploring.rows import list_rows
from envmill.gates.review import SEED, ReviewedCall, StateCall
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Observation, Program, Reset, Sandbox
from schemas.base import Json, canonical_json, is_object

Place = tuple[str, str, str]
"""Collection, key, attribute."""

LEAST = 3
"""Number of calls that can prove something."""


@dataclass(frozen=True)
class BoundaryCase:
    """Calls that can show the same fault."""

    tool: str
    what: str
    """Description of their states, to follow the word `where`."""
    asked: Sequence[StateCall]
    beside: Sequence[StateCall] = ()
    """The same calls on neighbouring states, which cannot show the fault. An alarm there as well is
    no evidence of it."""

    def render(self) -> str:
        return f"{self.tool} where {self.what}"


@dataclass(frozen=True, eq=False)
class MovedCall:
    """A call on its state with one value moved."""

    case: ReviewedCall
    place: Place
    value: Json

    @property
    def asked(self) -> StateCall:
        return StateCall(self._put(self.value), self.case.asked.call)

    def beside(self) -> list[StateCall]:
        if not is_number(self.value):
            return []
        return [
            StateCall(self._put(self.value + step), self.case.asked.call)
            for step in (1, -1)
            if self.value + step >= 0
        ]

    def repeat(self, cases: Sequence[ReviewedCall]) -> "list[MovedCall]":
        """The same value in the same place of other calls' states."""
        collection, key, name = self.place
        rows = [(case, case.asked.state.get(collection)) for case in cases]
        there = [
            case
            for case, held in rows
            if is_object(held) and is_object(held.get(key)) and name in held[key]
        ]
        return [replace(self, case=case) for case in there]

    def _put(self, value: Json) -> dict[str, Json]:
        state, (collection, key, name) = self.case.asked.state, self.place
        return {
            **state,
            collection: {**state[collection], key: {**state[collection][key], name: value}},
        }


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def list_near(case: ReviewedCall) -> Iterator[tuple[Place, Json]]:
    """Values of the rows that the call names, of rows these refer to, and of rows that refer to any
    of them."""
    asked, rows = case.asked, list(list_rows(case.asked.state))
    named = {value for value in asked.call.arguments.values() if isinstance(value, str)}
    named |= {
        value
        for row in rows
        if row.key in named
        for value in row.value.values()
        if isinstance(value, str)
    }
    for row in rows:
        pointed = any(isinstance(value, str) and value in named for value in row.value.values())
        if is_object(asked.state[row.collection]) and (row.key in named or pointed):
            yield from (
                ((row.collection, row.key, name), value) for name, value in row.value.items()
            )


def take_in_turn(queues: Sequence[Sequence[MovedCall]], most: int) -> list[MovedCall]:
    """Takes moves from all queues in turn. Moves with the same call, place and value as an earlier
    one come last."""
    longest = max(map(len, queues), default=0)
    moves = [queue[number] for number in range(longest) for queue in queues if number < len(queue)]
    first = _find_distinct(moves)
    return [*first, *(move for move in moves if move not in first)][:most]


def pick(moves: Sequence[MovedCall], most: int) -> list[StateCall]:
    """Moves that differ in call, place or value. If these are too few for a proof, others that
    repeat them follow."""
    first = _find_distinct(moves)
    again = [move for move in moves if move not in first]
    return [move.asked for move in [*first, *again[: max(0, LEAST - len(first))]][:most]]


def _find_distinct(moves: Sequence[MovedCall]) -> list[MovedCall]:
    found: dict[tuple[str, Place, str], MovedCall] = {}
    for move in moves:
        found.setdefault(
            (
                canonical_json(move.case.asked.call.arguments),
                move.place,
                canonical_json(move.value),
            ),
            move,
        )
    return list(found.values())


async def observe(
    program: Program, asked: Sequence[StateCall], sandbox: Sandbox
) -> list[Observation]:
    """The result of each call in a session of its own; if the state is refused, the result of the
    reset."""
    steps = [step for one in asked for step in (Reset(one.state, CLOCK, SEED), Invoke(one.call))]
    seen = await sandbox.play(program, steps, hashes="none") if steps else []
    pairs = zip(seen[::2], seen[1::2], strict=True)
    return [call if reset.outcome == "ok" else reset for reset, call in pairs]
