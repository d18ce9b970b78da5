"""Corners: calls of one sort that show what ordinary calls seldom do, made of calls that are known by moving one value of their state.

edge      both sides of a comparison in the tool's code are the same: all that `<` and `<=` differ in
standing  a number the tool sets stood elsewhere before: all that adding to a total and replacing it differ in, where it stands at nothing
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.gates.review import Asked, Case
from envmill.gates.rows import list_rows
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Observation, Program, Reset, Sandbox
from schemas.base import Json, is_object

Place = tuple[str, str, str]
"""Collection, key, attribute."""


@dataclass(frozen=True)
class Corner:
    """Calls that have in common what they show."""

    tool: str
    what: str
    """Their states, in words that follow `where`."""
    asked: Sequence[Asked]
    beside: Sequence[Asked] = ()
    """The same on states next to these, where nothing of the sort shows: whoever is alarmed there, too, has not seen it."""

    def tell(self) -> str:
        return f"{self.tool} where {self.what}"


@dataclass(frozen=True)
class Move:
    """A call on its state with one value moved."""

    case: Case
    place: Place
    value: Json

    @property
    def asked(self) -> Asked:
        return Asked(self._put(self.value), self.case.asked.call)

    def beside(self) -> list[Asked]:
        if not is_number(self.value):
            return []
        return [Asked(self._put(self.value + step), self.case.asked.call) for step in (1, -1) if self.value + step >= 0]

    def _put(self, value: Json) -> dict[str, Json]:
        state, (collection, key, name) = self.case.asked.state, self.place
        return {**state, collection: {**state[collection], key: {**state[collection][key], name: value}}}


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def list_near(case: Case) -> Iterator[tuple[Place, Json]]:
    """Values of the rows that a call names, of those these name, and of those that name any of them."""
    asked, rows = case.asked, list(list_rows(case.asked.state))
    named = {value for value in asked.call.arguments.values() if isinstance(value, str)}
    named |= {value for row in rows if row.key in named for value in row.value.values() if isinstance(value, str)}
    for row in rows:
        pointed = any(isinstance(value, str) and value in named for value in row.value.values())
        if is_object(asked.state[row.collection]) and (row.key in named or pointed):
            yield from (((row.collection, row.key, name), value) for name, value in row.value.items())


def take_in_turn(queues: Sequence[Sequence[Move]], most: int) -> list[Move]:
    """The first of each, then the second of each."""
    longest = max(map(len, queues), default=0)
    return [queue[number] for number in range(longest) for queue in queues if number < len(queue)][:most]


async def observe(program: Program, asked: Sequence[Asked], sandbox: Sandbox) -> list[Observation]:
    """What came of each call, on its own; where the state cannot be taken, what came of that."""
    steps = [step for one in asked for step in (Reset(one.state, CLOCK, 0), Invoke(one.call))]
    seen = await sandbox.play(program, steps, hashes="none") if steps else []
    pairs = zip(seen[::2], seen[1::2], strict=True)
    return [call if reset.outcome == "ok" else reset for reset, call in pairs]
