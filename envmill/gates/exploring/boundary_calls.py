"""Corners: calls of one sort that show what ordinary calls seldom do, made of calls that are known
by moving one value of their state.

edge      both sides of a comparison in the tool's code are the same: all that `<` and `<=` differ in
standing  a number the tool sets stood elsewhere before: all that adding to a total and replacing it
differ in, where it stands at nothing
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
"""Calls of a corner that can prove something."""


@dataclass(frozen=True)
class BoundaryCase:
    """Calls that have in common what they show."""

    tool: str
    what: str
    """Their states, in words that follow `where`."""
    asked: Sequence[StateCall]
    beside: Sequence[StateCall] = ()
    """The same on states next to these, where nothing of the sort shows: whoever is alarmed there,
    too, has not seen it."""

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
    """Values of the rows that a call names, of those these name, and of those that name any of
    them."""
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
    """The first of each, then the second of each; at the end those that do the same again where
    something else stands elsewhere."""
    longest = max(map(len, queues), default=0)
    moves = [queue[number] for number in range(longest) for queue in queues if number < len(queue)]
    first = _find_distinct(moves)
    return [*first, *(move for move in moves if move not in first)][:most]


def pick(moves: Sequence[MovedCall], most: int) -> list[StateCall]:
    """Those that differ in call or value; where these are few, the same once more elsewhere: two
    opinions are no proof."""
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
    """What came of each call, on its own; where the state cannot be taken, what came of that."""
    steps = [step for one in asked for step in (Reset(one.state, CLOCK, SEED), Invoke(one.call))]
    seen = await sandbox.play(program, steps, hashes="none") if steps else []
    pairs = zip(seen[::2], seen[1::2], strict=True)
    return [call if reset.outcome == "ok" else reset for reset, call in pairs]
