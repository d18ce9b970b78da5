"""A tour: one environment played widely, once, from every state it is known to take; most gates only read what was seen.

tests ─► draws from every state ─► odd and limit arguments ─► reads around every write ─► the same reads on the state alone
          └── longer for tools that nothing succeeded with yet

To start over costs as much as twenty calls: calls that change nothing share a session, and one that came behind a change is made
again without it.
"""

import random
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from envmill.gates.base import Built, Means
from envmill.gates.legs import Leg, Visit
from envmill.gates.offers import Offers
from envmill.gates.plans import play_plans
from envmill.gates.rows import Row, list_rows, list_scalars, turn_rows
from envmill.gates.stops import Gap, Stop, Tour, Why
from envmill.kinds.start import CLOCK
from envmill.sandbox import Observation, Program, Reset
from schemas.base import Json, canonical_json, digest, is_object
from schemas.environment import Call, Tool
from schemas.scenario import Change

SEED = 0
_STATES = 3
"""Known states a tour starts from; more cost more and show little."""
_DRAWS, _FEW_DRAWS, _SEARCH = 8, 4, 48
"""Calls drawn per tool from the first state, from each further one, and for a tool that never succeeded."""
_AGAIN = 3
"""Calls behind a change in their session that are made again without it."""
_ODD = 12
_WRITES = 2
"""Writes per tool around which everything is read."""
_READS, _AIMED = 20, 4
"""Reads around one write, and those among them that name one parameter's rows."""
_FILTERS = 3
"""Values tried for one filter, and texts for one search."""
_HELD = 24
"""Tours kept in this process: gates of one environment follow each other, and a bucket's environments are worked on together."""


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
        self._resets: dict[int, Reset] = {}
        self._starts = {canonical_json(state): state for state in tour.starts}

    async def take(self) -> Tour:
        if not self.tour.starts:
            return self.tour
        await self._play(list(self._plan_tests()))
        await self._play_apart(list(self._plan_draws()), _AGAIN)
        await self._search()
        await self._play_apart(list(self._plan_odd()), _AGAIN)
        await self._look_around()
        await self._fill_gaps()
        return self.tour

    async def _play(self, legs: Sequence[Leg]) -> list[list[Stop]]:
        """Stops per leg; all of them join the tour."""
        plans = [list(leg.steps(self._reset(leg.start))) for leg in legs]
        played = [self._note(leg, seen) for leg, seen in zip(legs, await play_plans(self._program, plans, self._sandbox), strict=True)]
        self.tour.add([stop for stops in played for stop in stops])
        return played

    async def _play_apart(self, legs: Sequence[Leg], most: int) -> None:
        """What came behind a change in its session is asked again without it, so many times a session."""
        await self._play([one for leg, stops in zip(legs, await self._play(legs), strict=True) for one in leg.split(stops, most)])

    def _reset(self, state: Json) -> Reset:
        """One for all sessions of a state: what names it is computed once. The tour holds every state as long as this lasts."""
        return self._resets.setdefault(id(state), Reset(state, CLOCK, SEED))

    def _note(self, leg: Leg, seen: list[Observation]) -> list[Stop]:
        stops, made = list[Stop](), list(leg.route)
        reset, ways, rest = seen[0], seen[1 : 1 + len(leg.route)], iter(seen[1 + len(leg.route) :])
        if reset.state_hash:
            self.tour.states.setdefault(reset.state_hash, leg.start)
        before = (ways[-1] if ways else reset).state_hash
        if leg.looks_first:
            self._keep(next(rest))
        for why, call in leg.calls:
            stop = Stop(call, why, next(rest), before, leg.start, tuple(made))
            stops.append(stop)
            # What left the state as it was leads nowhere.
            made += [call] if stop.moved else []
            before = stop.after
            if leg.looks_after(why):
                self._keep(next(rest))
        return stops

    def _keep(self, look: Observation) -> None:
        if look.state is not None:
            self.tour.states.setdefault(look.state_hash, look.state)

    def _plan_tests(self) -> Iterator[Leg]:
        """A change that succeeds has a session of its own; of the others, those of one state share one."""
        still: dict[str, list[Call]] = {}
        for test in self._built.tests:
            key = canonical_json(test.initial_state)
            start = self._starts.setdefault(key, test.initial_state)
            writes = test.expect == "success" and self._is_change(test.call.name)
            if writes or test.setup:
                yield Leg(start, tuple(test.setup), (("test", test.call),), looks=writes)
            else:
                still.setdefault(key, []).append(test.call)
        yield from (Leg(self._starts[key], (), tuple(("test", call) for call in calls)) for key, calls in still.items())

    def _is_change(self, name: str) -> bool:
        return name in self.tour.tools and self.tour.tools[name].effect == "change"

    def _plan_draws(self) -> Iterator[Leg]:
        for number, state in enumerate(self.tour.starts):
            yield from self._draw_from(state, self.tour.tools.values(), _FEW_DRAWS if number else _DRAWS)

    def _draw_from(self, state: Json, tools: Iterable[Tool], most: int) -> Iterator[Leg]:
        """A query leaves the state alone, so that one session takes those of all tools."""
        queries: list[tuple[Why, Call]] = []
        for tool in tools:
            calls: list[tuple[Why, Call]] = [("drawn", call) for call in self.tour.offers.draw_some(tool, state, self._dice, most)]
            if tool.effect == "query":
                queries += calls
            else:
                yield Leg(state, (), tuple(calls), looks=True)
        yield Leg(state, (), tuple(queries))

    async def _search(self) -> None:
        """More calls, from further on, for tools that never succeeded or never changed anything."""
        for _ in range(2):
            lacking = [tool for tool in self.tour.tools.values() if not self._is_shown(tool)]
            if not lacking:
                return
            reached = [self.tour.states[stop.after] for stop in self.tour.writes()]
            states = [*self.tour.starts[:1], *self._dice.sample(reached, min(4, len(reached)))]
            legs = [leg for state in states for leg in self._draw_from(state, lacking, _SEARCH // len(states))]
            await self._play_apart(legs, _AGAIN)

    def _is_shown(self, tool: Tool) -> bool:
        done = [stop for stop in self.tour.of(tool.name) if stop.seen.outcome == "ok"]
        return any(stop.moved for stop in done) if tool.effect == "change" else bool(done)

    def _plan_odd(self) -> Iterator[Leg]:
        """Queries of one place share a session."""
        shared: dict[int, tuple[Json, list[tuple[Why, Call]]]] = {}
        for tool in self.tour.tools.values():
            base = self._find_base(tool)
            if base is None:
                continue
            calls = list(self._plan_odd_calls(tool, base))
            if tool.effect == "change" or base.route:
                yield Leg(base.start, base.route, tuple(calls))
            else:
                shared.setdefault(id(base.start), (base.start, []))[1].extend(calls)
        yield from (Leg(state, (), tuple(calls)) for state, calls in shared.values())

    def _find_base(self, tool: Tool) -> Stop | None:
        """A call that went well, at the start if there is one."""
        stops = self.tour.of(tool.name)
        done = [stop for stop in stops if stop.seen.outcome == "ok"]
        return next((stop for stop in done if not stop.route), (done or stops or [None])[0])

    def _plan_odd_calls(self, tool: Tool, base: Stop) -> Iterator[tuple[Why, Call]]:
        offers, state = self.tour.offers, base.start
        for call in offers.bend(base.call, state, self._dice, _ODD):
            yield "odd", call
        for _, _, call in offers.push(base.call):
            yield "limit", call
        if tool.effect == "query" and base.seen.outcome == "ok":
            for call in self._plan_filters(tool, base.call, state):
                yield "filter", call
            for call in self._plan_searches(tool, base.call, state):
                yield "search", call

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
        visits = [Visit(state, turn_rows(state), self._pick_reads(None)) for state in self.tour.starts]
        turned: set[str] = set()
        for write in self._pick_writes():
            state = self.tour.states[write.after]
            other = None if write.call.name in turned else turn_rows(state)
            turned.add(write.call.name)
            visits.append(Visit(state, other, self._pick_reads(write), write, self._pick_seconds(write)))
        plans = [list(visit.legs()) for visit in visits]
        played = iter(await self._play([leg for plan in plans for leg in plan]))
        for visit, plan in zip(visits, plans, strict=True):
            seen = list(islice(played, len(plan)))
            self.tour.echoes += visit.echoes(seen)
            self.tour.twins += visit.twins(seen, self.tour.states)

    async def _fill_gaps(self) -> None:
        """Ids that are drawn come only once; others are counted, or given, and a count comes again when a row is gone."""
        legs, places = list[Leg](), list[list[str]]()
        for write in self._pick_writes():
            if write.seen.uses.get("ids") or write.seen.uses.get("randomness"):
                continue
            added = next((change for change in self.tour.diff(write) if change.op == "add" and len(change.path) == 2), None)
            given = set(map(str, list_scalars(write.call.arguments)))
            state = _make_gap(self.tour.states[write.before], added) if added and added.path[1] not in given else None
            if added and state is not None:
                legs.append(Leg(state, (), (("drawn", write.call),), True))
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
            if not stop.seen.uses and not stop.route and stop.start is write.start:
                found.setdefault(stop.call.name, stop.call)
        return tuple(found[name] for name in sorted(found, key=lambda one: one == write.call.name))[:2]

    def _pick_reads(self, write: Stop | None) -> tuple[Call, ...]:
        """Queries that succeeded, and such as name a row the write touched or one it speaks of; without a write, rows at either end."""
        state = self.tour.states[write.after] if write else self.tour.starts[0]
        near = self._find_near(self.tour.diff(write), state) if write else _find_ends(state)
        queues: list[list[Call]] = []
        for tool in self.tour.tools.values():
            if tool.effect == "query":
                done = [stop.call for stop in self.tour.of(tool.name) if stop.seen.outcome == "ok" and stop.why in ("test", "drawn")]
                queues.append([*self._aim(done[:1], state, near), *done[:2]])
        # In turn, so that no query is crowded out by those before it.
        reads = (call for turn in zip_longest(*queues) for call in turn if call)
        return tuple({canonical_json([call.name, call.arguments]): call for call in reads}.values())[:_READS]

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
