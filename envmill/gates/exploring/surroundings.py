"""What is looked at around changes: reads before and after them, the same on the state that was
left, and on it with its rows turned."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from envmill.gates.exploring.observations import ExplorationRun, HoleTest, ObservedCall
from envmill.gates.exploring.rows import StateRow, list_rows, list_scalars, turn_rows
from envmill.gates.exploring.session_plans import SessionPlan, VisitedState, WritePlan
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json, is_object
from schemas.environment import Call

WRITES = 2
"""Writes per tool around which everything is read."""
_CHAINED = 7
"""Changes in one session: to start over, and to read everything once more, costs more than what
each of them may hide of the others."""
_READS, _AIMED = 18, 4
"""Reads around one chain, and those among them that name one parameter's rows."""
_SECONDS = 4
"""Changes at the end of a chain, made once more on its state alone."""

Play = Callable[[Sequence[SessionPlan]], Awaitable[list[list[ObservedCall]]]]


async def explore_changes(tour: ExplorationRun, play: Play) -> None:
    """Every tool's changes, a few to a session, and the states the tour starts from."""
    writes = pick_writes(tour)
    rounds = [
        [stops[number] for stops in writes.values() if number < len(stops)]
        for number in range(WRITES)
    ]
    # The first of each is made twice: what a change does to a total shows when it is made again.
    chains = [
        chain
        for number, taken in enumerate(rounds)
        for chain in _chain(tour, taken, times=1 if number else 2)
    ]
    visits = await _visit(tour, chains, play)
    shown = {stop.call.name for visit in visits for stop in visit.moves}
    # What those before it forbade is looked at alone.
    alone = [
        _make_chain(tour, stops[:1], (), times=2)
        for name, stops in writes.items()
        if name not in shown
    ]
    visits += await _visit(tour, alone, play)
    await _compare(
        tour,
        [*(VisitedState(state, _pick_reads(tour, state, ())) for state in tour.starts), *visits],
        play,
    )


def pick_writes(tour: ExplorationRun) -> dict[str, list[ObservedCall]]:
    """Tool → the first of its changes."""
    found: dict[str, list[ObservedCall]] = {}
    for stop in tour.writes():
        found.setdefault(stop.call.name, []).append(stop)
    return {name: stops[:WRITES] for name, stops in found.items()}


def _chain(tour: ExplorationRun, writes: Sequence[ObservedCall], times: int) -> Iterator[WritePlan]:
    """Those that start from one state, in sessions of a few."""
    places: dict[int, list[ObservedCall]] = {}
    for stop in writes:
        places.setdefault(id(stop.start), []).append(stop)
    seconds = _Seconds(tour)
    for stops in places.values():
        for at in range(0, len(stops), _CHAINED):
            taken = stops[at : at + _CHAINED]
            yield _make_chain(tour, taken, seconds.take(taken), times)


def _make_chain(
    tour: ExplorationRun, writes: Sequence[ObservedCall], seconds: tuple[Call, ...], times: int
) -> WritePlan:
    calls = tuple(call for stop in writes for call in (*stop.route, *(stop.call,) * times))
    return WritePlan(
        writes[0].start, calls, _pick_reads(tour, tour.states[writes[0].after], writes), seconds
    )


async def _visit(
    tour: ExplorationRun, chains: Sequence[WritePlan], play: Play
) -> list[VisitedState]:
    played = await play([chain.leg() for chain in chains])
    tour.sessions += played
    return [
        visit
        for chain, stops in zip(chains, played, strict=True)
        if (visit := chain.arrive(stops, tour.states))
    ]


async def _compare(tour: ExplorationRun, visits: Sequence[VisitedState], play: Play) -> None:
    """Every state once more, with its rows turned; where that comes out otherwise, as it is as
    well, to tell the one from the other."""
    turned = await play([visit.begin(turn_rows(visit.state)) for visit in visits])
    parted = [visit for visit, stops in zip(visits, turned, strict=True) if not visit.agrees(stops)]
    alone = dict(
        zip(
            map(id, parted), await play([visit.begin(visit.state) for visit in parted]), strict=True
        )
    )
    for visit, stops in zip(visits, turned, strict=True):
        one = alone.get(id(visit), stops)
        tour.echoes += visit.echo("written", one, visit.told)
        tour.twins += visit.pair_ends(one, tour.states)
        if one is not stops:
            tour.echoes += visit.echo("turned", one, stops)


class _Seconds:
    """Changes to make at the end of chains: such as need no chance, those that were taken least
    first."""

    def __init__(self, tour: ExplorationRun) -> None:
        self._taken: dict[str, int] = {}
        self._known: dict[int, dict[str, Call]] = {}
        for stop in tour.writes():
            if not stop.seen.uses and not stop.route:
                self._known.setdefault(id(stop.start), {}).setdefault(stop.call.name, stop.call)

    def take(self, writes: Sequence[ObservedCall]) -> tuple[Call, ...]:
        known, own = self._known.get(id(writes[0].start), {}), {stop.call.name for stop in writes}
        names = sorted(known, key=lambda name: (self._taken.get(name, 0), name in own))[:_SECONDS]
        self._taken.update({name: self._taken.get(name, 0) + 1 for name in names})
        return tuple(known[name] for name in names)


def _pick_reads(
    tour: ExplorationRun, state: Json, writes: Sequence[ObservedCall]
) -> tuple[Call, ...]:
    """Queries that succeeded, and such as name a row the writes touched or one it speaks of;
    without a write, rows at either end."""
    near = (
        {key for write in writes for key in _find_near(tour, write)}
        if writes
        else _find_ends(state)
    )
    queues: list[list[Call]] = []
    for tool in tour.tools.values():
        if tool.effect == "query":
            done = [
                stop.call
                for stop in tour.of(tool.name)
                if stop.seen.outcome == "ok" and stop.why in ("test", "drawn")
            ]
            queues.append([*_aim(tour, done[:1], state, near), *done[:2]])
    # In turn, so that no query is crowded out by those before it.
    reads = (call for turn in zip_longest(*queues) for call in turn if call)
    distinct = {canonical_json([call.name, call.arguments]): call for call in reads}
    return tuple(islice(distinct.values(), _READS))


def _find_near(tour: ExplorationRun, write: ObservedCall) -> set[str]:
    """Keys of rows that were touched, and of those that a touched row names."""
    touched = {tuple(change.path[:2]) for change in tour.diff(write)}
    return _name([row for row in tour.rows(write.after) if (row.collection, row.key) in touched])


def _find_ends(state: Json) -> set[str]:
    """Keys of the first and last rows, and of those they name: what passes over an end shows
    there."""
    collections: dict[str, list[StateRow]] = {}
    for row in list_rows(state):
        collections.setdefault(row.collection, []).append(row)
    return _name([row for rows in collections.values() for row in (rows[0], rows[-1])])


def _name(rows: Sequence[StateRow]) -> set[str]:
    return {
        value
        for row in rows
        for value in (row.key, *list_scalars(row.value))
        if isinstance(value, str)
    }


def _aim(
    tour: ExplorationRun, calls: Sequence[Call], state: Json, near: set[str]
) -> Iterator[Call]:
    for call in calls:
        for name in call.arguments:
            column = tour.offers.find_column(call.name, name, state)
            values = [value for row, value in column if row.key in near]
            yield from (
                call.model_copy(update={"arguments": call.arguments | {name: value}})
                for value in values[:_AIMED]
            )


async def fill_gaps(tour: ExplorationRun, play: Play) -> None:
    """Ids that are drawn come only once; others are counted, or given, and a count comes again when
    a row is gone."""
    gaps = list[_Gap]()
    for write in (stop for stops in pick_writes(tour).values() for stop in stops):
        if write.seen.uses.get("ids") or write.seen.uses.get("randomness"):
            continue
        added = next(
            (change for change in tour.diff(write) if change.op == "add" and len(change.path) == 2),
            None,
        )
        if added is None or added.path[1] in set(map(str, list_scalars(write.call.arguments))):
            continue
        if (gap := _make_gap(tour.states[write.before], added.path, write.call)) is not None:
            gaps.append(gap)
    filled = await _play_gaps(gaps, [gap.filled for gap in gaps], tour, play)
    short = [
        gap for gap, test in filled if test.one.outcome == "ok" and not _adds(test, gap.place[:1])
    ]
    emptied = await _play_gaps(short, [gap.emptied for gap in short], tour, play)
    # An id that comes again where a row less stands is made of what the call is about.
    about = [gap for gap, test in emptied if _adds(test, gap.place)]
    tour.gaps += [test for gap, test in filled if not any(gap is one for one in about)]


@dataclass(frozen=True)
class _Gap:
    """A change that adds a row, and states of one row less."""

    call: Call
    place: list[str]
    filled: Json
    """A row that nobody names bears the key that the change would give next."""
    emptied: Json
    """That row is gone."""


async def _play_gaps(
    gaps: Sequence[_Gap], starts: Sequence[Json], tour: ExplorationRun, play: Play
) -> list[tuple[_Gap, HoleTest]]:
    legs = [
        SessionPlan(state, (), (("drawn", gap.call),), looks=True)
        for gap, state in zip(gaps, starts, strict=True)
    ]
    states, found = tour.states, list[tuple[_Gap, HoleTest]]()
    for (stop,), gap in zip(await play(legs), gaps, strict=True):
        if stop.before in states and stop.after in states:
            ends = states[stop.before], states[stop.after]
            found.append((gap, HoleTest(stop.call, gap.place, stop.seen, ends)))
    return found


def _adds(test: HoleTest, place: Sequence[str]) -> bool:
    """Whether a row is added there."""
    return any(
        change.op == "add" and change.path[: len(place)] == place
        for change in diff_states(*test.states)
    )


def _make_gap(state: Json, place: list[str], call: Call) -> _Gap | None:
    """None when every row is named."""
    collection, key = place
    others = [row for row in list_rows(state) if row.collection == collection]
    free = [row for row in others if sum(value == row.key for value in list_scalars(state)) <= 2]
    if not free or not is_object(state[collection]):
        return None
    renamed = {
        name: key if value == free[-1].key else value for name, value in free[-1].value.items()
    }
    left = {name: row for name, row in state[collection].items() if name != free[-1].key}
    return _Gap(
        call, place, state | {collection: left | {key: renamed}}, state | {collection: left}
    )
