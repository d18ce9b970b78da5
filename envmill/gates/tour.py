"""A tour: one environment played widely, once, from every state it is known to take; most gates only read what was seen.

tests ─► draws from every state ─► odd and limit arguments ─► reads around every write ─► the same reads on the state alone
          └── longer for tools that nothing succeeded with yet
"""

import random
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from envmill.gates.base import Built, Means
from envmill.gates.offers import Offers
from envmill.gates.rows import Row, list_rows, list_scalars, turn_rows
from envmill.gates.stops import Echo, Gap, Stop, Tour, Twin, Why
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Step
from schemas.base import Json, canonical_json, digest, is_object
from schemas.environment import Call, Tool
from schemas.scenario import Change

SEED = 0
_STATES = 3
"""Known states a tour starts from; more cost more and show little."""
_DRAWS, _SEARCH = 8, 48
"""Calls drawn per tool and state, and for a tool that never succeeded."""
_ODD = 12
_WRITES = 3
"""Writes per tool around which everything is read."""
_READS, _AIMED = 32, 4
"""Reads around one write, and those among them that name one parameter's rows."""
_FILTERS = 3
"""Values tried for one filter, and texts for one search."""
_LEGS = 32
"""Sessions in a message."""
_HELD = 24
"""Tours kept in this process: gates of one environment follow each other, and a bucket's environments are worked on together."""


@dataclass(frozen=True)
class _Leg:
    """One session: a state, calls that lead somewhere, then calls that are looked at."""

    start: Json
    route: tuple[Call, ...]
    calls: tuple[tuple[Why, Call], ...]
    looks: bool = False
    """Whether the state is looked at before the first and after every call."""

    def steps(self) -> Iterator[Step]:
        yield Reset(self.start, CLOCK, SEED)
        yield from map(Invoke, self.route)
        if self.looks:
            yield Look()
        for _, call in self.calls:
            yield Invoke(call)
            if self.looks:
                yield Look()


@dataclass(frozen=True)
class _Visit:
    """A state, come to by a write or known from the start, and what is asked and done there."""

    state: Json
    reads: tuple[Call, ...]
    write: Stop | None = None
    seconds: tuple[Call, ...] = ()
    """Changes made there once more."""

    def legs(self) -> Iterator[_Leg]:
        reads = _read(self.reads)
        yield _Leg(self.state, (), reads)
        yield _Leg(turn_rows(self.state), (), reads)
        if self.write:
            yield _Leg(self.write.start, self.write.route, (*reads, ("drawn", self.write.call), *reads))
            yield from (_Leg(self.write.start, (*self.write.route, self.write.call), (("drawn", one),), True) for one in self.seconds)
            yield from (_Leg(self.state, (), (("drawn", one),), True) for one in self.seconds)

    def echoes(self, played: Sequence[list[Stop]]) -> Iterator[Echo]:
        alone, turned = played[:2]
        for number, call in enumerate(self.reads):
            yield Echo("turned", call, alone[number].seen, turned[number].seen, self.write, self.state)
            if self.write:
                there = played[2][number - len(self.reads)]
                yield Echo("written", call, alone[number].seen, there.seen, self.write, self.state)

    def twins(self, played: Sequence[list[Stop]], states: Mapping[str, Json]) -> Iterator[Twin]:
        """Pairs that drew on no chance, whose streams stand elsewhere in the two sessions."""
        lived, alone = played[3 : 3 + len(self.seconds)], played[3 + len(self.seconds) :]
        for (one,), (other,) in zip(lived, alone, strict=True):
            if self.write and one.after in states and other.after in states and not (one.seen.uses or other.seen.uses):
                yield Twin(self.write, one.call, one.seen, other.seen, (states[one.after], states[other.after]))


_tours: OrderedDict[str, Tour] = OrderedDict()


async def take_tour(built: Built, means: Means) -> Tour:
    """The tour of an environment, taken once per process and seed."""
    starts = [*(test.initial_state for test in built.tests), *built.examples]
    key = digest([built.environment.id, [test.id for test in built.tests], list(map(digest, built.examples)), means.seed])
    if key in _tours:
        _tours.move_to_end(key)
        return _tours[key]
    distinct = list({canonical_json(state): state for state in starts}.values())[:_STATES]
    tools = {tool.name: tool for tool in built.environment.tools}
    guide = _Guide(built, Tour(tools, Offers(built), distinct), means)
    _tours[key] = await guide.take()
    while len(_tours) > _HELD:
        _tours.popitem(last=False)
    return _tours[key]


class _Guide:
    """Plans legs, plays them, notes what was seen."""

    def __init__(self, built: Built, tour: Tour, means: Means) -> None:
        self._built, self.tour, self._sandbox = built, tour, means.sandbox
        self._program = Program.of(built.environment)
        self._dice = random.Random(f"{built.environment.id}/{means.seed}")

    async def take(self) -> Tour:
        if not self.tour.starts:
            return self.tour
        await self._play([*self._plan_tests(), *self._plan_draws(self.tour.starts, self.tour.tools.values(), _DRAWS)])
        await self._search()
        await self._play(list(self._plan_odd()))
        await self._look_around()
        await self._fill_gaps()
        return self.tour

    async def _play(self, legs: Sequence[_Leg]) -> list[list[Stop]]:
        """Stops per leg; all of them join the tour."""
        played: list[list[Stop]] = []
        for at in range(0, len(legs), _LEGS):
            batch = legs[at : at + _LEGS]
            plans = [list(leg.steps()) for leg in batch]
            seen = iter(await self._sandbox.play(self._program, [step for plan in plans for step in plan]))
            played += [self._note(leg, list(islice(seen, len(plan)))) for leg, plan in zip(batch, plans, strict=True)]
        self.tour.stops += [stop for stops in played for stop in stops]
        return played

    def _note(self, leg: _Leg, seen: list[Observation]) -> list[Stop]:
        stops, made = list[Stop](), list(leg.route)
        reset, ways, rest = seen[0], seen[1 : 1 + len(leg.route)], iter(seen[1 + len(leg.route) :])
        if reset.state_hash:
            self.tour.states[reset.state_hash] = leg.start
        before = (ways[-1] if ways else reset).state_hash
        if leg.looks:
            self._keep(next(rest))
        for why, call in leg.calls:
            one = next(rest)
            stops.append(Stop(call, why, one, before, leg.start, tuple(made)))
            made.append(call)
            before = one.state_hash
            if leg.looks:
                self._keep(next(rest))
        return stops

    def _keep(self, look: Observation) -> None:
        if look.state is not None:
            self.tour.states[look.state_hash] = look.state

    def _plan_tests(self) -> Iterator[_Leg]:
        for test in self._built.tests:
            writes = test.expect == "success" and test.call.name in self.tour.tools and self.tour.tools[test.call.name].effect == "change"
            yield _Leg(test.initial_state, tuple(test.setup), (("test", test.call),), looks=writes)

    def _plan_draws(self, states: Sequence[Json], tools: Iterable[Tool], most: int) -> Iterator[_Leg]:
        """A query leaves the state alone, so that one session takes many; every change starts afresh."""
        for tool in list(tools):
            for state in states:
                calls = self.tour.offers.draw_some(tool, state, self._dice, most)
                if tool.effect == "query":
                    yield _Leg(state, (), tuple(("drawn", call) for call in calls))
                else:
                    yield from (_Leg(state, (), (("drawn", call),), looks=True) for call in calls)

    async def _search(self) -> None:
        """More calls, from further on, for tools that never succeeded or never changed anything."""
        for _ in range(2):
            lacking = [tool for tool in self.tour.tools.values() if not self._is_shown(tool)]
            if not lacking:
                return
            reached = [self.tour.states[stop.after] for stop in self.tour.writes()]
            states = [*self.tour.starts[:1], *self._dice.sample(reached, min(4, len(reached)))]
            await self._play(list(self._plan_draws(states, lacking, _SEARCH // len(states))))

    def _is_shown(self, tool: Tool) -> bool:
        done = [stop for stop in self.tour.of(tool.name) if stop.seen.outcome == "ok"]
        return any(stop.moved for stop in done) if tool.effect == "change" else bool(done)

    def _plan_odd(self) -> Iterator[_Leg]:
        offers = self.tour.offers
        for tool in self.tour.tools.values():
            stops = self.tour.of(tool.name)
            base = next((stop for stop in stops if stop.seen.outcome == "ok"), stops[0] if stops else None)
            if base is None:
                continue
            state = base.start
            for call in offers.bend(base.call, state, self._dice, _ODD):
                yield _Leg(state, base.route, (("odd", call),), looks=False)
            yield from (_Leg(state, base.route, (("limit", call),)) for _, _, call in offers.push(base.call))
            if tool.effect == "query" and base.seen.outcome == "ok":
                yield _Leg(state, (), tuple(("filter", call) for call in self._plan_filters(tool, base.call, state)))
                yield _Leg(state, (), tuple(("search", call) for call in self._plan_searches(tool, base.call, state)))

    def _plan_filters(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """Without what is optional, and with one such argument at a time."""
        required = set(tool.parameters.get("required", ()))
        bare = {name: value for name, value in base.arguments.items() if name in required}
        optional = [name for name in tool.parameters.get("properties", {}) if name not in required]
        if optional:
            yield base.model_copy(update={"arguments": bare})
        for name in optional:
            for value in self.tour.offers.values(tool, name, state)[:_FILTERS]:
                yield base.model_copy(update={"arguments": bare | {name: value}})

    def _plan_searches(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """A text that some row bears, a part of it, and the same in the other case."""
        for name in self.tour.offers.searches(tool):
            texts = [
                value for _, value in self.tour.offers.find_column(tool.name, name, state) if isinstance(value, str) and len(value) > 3
            ]
            for text in texts[:_FILTERS]:
                for spelt in (text, text[: len(text) // 2 + 1].rstrip(), text.swapcase()):
                    yield base.model_copy(update={"arguments": base.arguments | {name: spelt}})

    async def _look_around(self) -> None:
        """Reads before and after writes, the same reads on the state that was left, and on that state with its rows turned."""
        visits = [_Visit(state, self._pick_reads(None)) for state in self.tour.starts]
        for write in self._pick_writes():
            state = self.tour.states[write.after]
            visits.append(_Visit(state, self._pick_reads(write), write, self._pick_seconds(write)))
        plans = [list(visit.legs()) for visit in visits]
        played = iter(await self._play([leg for plan in plans for leg in plan]))
        for visit, plan in zip(visits, plans, strict=True):
            seen = list(islice(played, len(plan)))
            self.tour.echoes += visit.echoes(seen)
            self.tour.twins += visit.twins(seen, self.tour.states)

    async def _fill_gaps(self) -> None:
        """Ids that are drawn come only once; others are counted, or given, and a count comes again when a row is gone."""
        legs, places = list[_Leg](), list[list[str]]()
        for write in self._pick_writes():
            if write.seen.uses.get("ids") or write.seen.uses.get("randomness"):
                continue
            added = next((change for change in self.tour.diff(write) if change.op == "add" and len(change.path) == 2), None)
            given = set(map(str, list_scalars(write.call.arguments)))
            state = _make_gap(self.tour.states[write.before], added) if added and added.path[1] not in given else None
            if added and state is not None:
                legs.append(_Leg(state, (), (("drawn", write.call),), True))
                places.append(added.path)
        states = self.tour.states
        for (stop,), place in zip(await self._play(legs), places, strict=True):
            if stop.before in states and stop.after in states:
                self.tour.gaps.append(Gap(stop.call, place, stop.seen, (states[stop.before], states[stop.after])))

    def _pick_writes(self) -> Iterator[Stop]:
        taken: dict[str, int] = {}
        for stop in self.tour.writes():
            if taken.setdefault(stop.call.name, 0) < _WRITES:
                taken[stop.call.name] += 1
                yield stop

    def _pick_seconds(self, write: Stop) -> tuple[Call, ...]:
        """Other changes from the same start that need no chance, those of other tools first."""
        found: dict[str, Call] = {}
        for stop in self.tour.writes():
            if not stop.seen.uses and not stop.route and stop.start == write.start:
                found.setdefault(stop.call.name, stop.call)
        return tuple(found[name] for name in sorted(found, key=lambda one: one == write.call.name))[:2]

    def _pick_reads(self, write: Stop | None) -> tuple[Call, ...]:
        """Queries that succeeded, and such as name a row the write touched or one it speaks of; without a write, rows at either end."""
        state = self.tour.states[write.after] if write else self.tour.starts[0]
        near = self._find_near(self.tour.diff(write), state) if write else _find_ends(state)
        reads: dict[str, Call] = {}
        for tool in self.tour.tools.values():
            if tool.effect != "query":
                continue
            done = [stop.call for stop in self.tour.of(tool.name) if stop.seen.outcome == "ok" and stop.why in ("test", "drawn")]
            for call in (*self._aim(done[:1], state, near), *done[:2]):
                reads.setdefault(canonical_json([call.name, call.arguments]), call)
        return tuple(reads.values())[:_READS]

    def _find_near(self, changes: Sequence[Change], state: Json) -> set[str]:
        """Keys of rows that were touched, and of those that a touched row names."""
        touched = {tuple(change.path[:2]) for change in changes}
        return _name([row for row in list_rows(state) if (row.collection, row.key) in touched])

    def _aim(self, calls: Sequence[Call], state: Json, near: set[str]) -> Iterator[Call]:
        for call in calls:
            for name in call.arguments:
                column = self.tour.offers.find_column(call.name, name, state)
                values = [value for row, value in column if row.key in near]
                yield from (call.model_copy(update={"arguments": call.arguments | {name: value}}) for value in values[:_AIMED])


def _make_gap(state: Json, added: Change) -> Json:
    """The state in which a row that nobody names bears the key a change would give next; None when every row is named."""
    collection, key = added.path
    others = [row for row in list_rows(state) if row.collection == collection]
    free = [row for row in others if sum(value == row.key for value in list_scalars(state)) <= 2]
    if not free or not is_object(state[collection]):
        return None
    renamed = {name: key if value == free[-1].key else value for name, value in free[-1].value.items()}
    return state | {collection: {name: row for name, row in state[collection].items() if name != free[-1].key} | {key: renamed}}


def _find_ends(state: Json) -> set[str]:
    """Keys of the first and last rows, and of those they name: what passes over an end shows there."""
    collections: dict[str, list[Row]] = {}
    for row in list_rows(state):
        collections.setdefault(row.collection, []).append(row)
    return _name([row for rows in collections.values() for row in (rows[0], rows[-1])])


def _name(rows: Sequence[Row]) -> set[str]:
    return {value for row in rows for value in (row.key, *list_scalars(row.value)) if isinstance(value, str)}


def _read(calls: Sequence[Call]) -> tuple[tuple[Why, Call], ...]:
    return tuple(("read", call) for call in calls)
