"""Reads and changes repeated on the states that changes reached, with rows reversed; on the state
as it is if a result differs. Also changes that add a row, repeated where another row is missing."""

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
"""Writes per tool that get reads around them."""
_CHAINED = 7
"""Changes in one session. They may hide each other's effects, but more sessions would need more
resets and reads."""
_READS, _AIMED = 18, 4
"""Most reads around one chain, and most values that are tried for one parameter of a query."""
_FINAL_CHANGES = 4
"""Changes at the end of a chain that are repeated on its state alone."""

Play = Callable[[Sequence[SessionPlan]], Awaitable[list[list[ObservedCall]]]]


async def explore_changes(exploration: ExplorationRun, play: Play) -> None:
    """Plays the first changes of every tool, a few to a session. Then compares the results of reads
    on each reached state and start state with those under reversed rows."""
    writes = pick_writes(exploration)
    rounds = [
        [calls[number] for calls in writes.values() if number < len(calls)]
        for number in range(WRITES)
    ]
    # The first change of each tool is made twice, which shows whether it adds to a total or
    # replaces it.
    chains = [
        chain
        for number, taken in enumerate(rounds)
        for chain in _chain(exploration, taken, times=1 if number else 2)
    ]
    visits = await _visit(exploration, chains, play)
    shown = {observed.call.name for visit in visits for observed in visit.moves}
    # Tools of which no change succeeded in the shared sessions get a session of their own.
    alone = [
        _make_chain(exploration, calls[:1], (), times=2)
        for name, calls in writes.items()
        if name not in shown
    ]
    visits += await _visit(exploration, alone, play)
    await _compare(
        exploration,
        [
            *(
                VisitedState(state, _pick_reads(exploration, state, ()))
                for state in exploration.starts
            ),
            *visits,
        ],
        play,
    )


def pick_writes(exploration: ExplorationRun) -> dict[str, list[ObservedCall]]:
    """Tool → its first changes."""
    found: dict[str, list[ObservedCall]] = {}
    for observed in exploration.writes():
        found.setdefault(observed.call.name, []).append(observed)
    return {name: calls[:WRITES] for name, calls in found.items()}


def _chain(
    exploration: ExplorationRun, writes: Sequence[ObservedCall], times: int
) -> Iterator[WritePlan]:
    """Sessions of a few changes that start from the same state."""
    places: dict[int, list[ObservedCall]] = {}
    for observed in writes:
        places.setdefault(id(observed.start), []).append(observed)
    final_changes = _FinalChanges(exploration)
    for calls in places.values():
        for at in range(0, len(calls), _CHAINED):
            taken = calls[at : at + _CHAINED]
            yield _make_chain(exploration, taken, final_changes.take(taken), times)


def _make_chain(
    exploration: ExplorationRun,
    writes: Sequence[ObservedCall],
    final_changes: tuple[Call, ...],
    times: int,
) -> WritePlan:
    calls = tuple(
        call for observed in writes for call in (*observed.route, *(observed.call,) * times)
    )
    return WritePlan(
        writes[0].start,
        calls,
        _pick_reads(exploration, exploration.states[writes[0].after], writes),
        final_changes,
    )


async def _visit(
    exploration: ExplorationRun, chains: Sequence[WritePlan], play: Play
) -> list[VisitedState]:
    played = await play([chain.plan() for chain in chains])
    exploration.sessions += played
    return [
        visit
        for chain, calls in zip(chains, played, strict=True)
        if (visit := chain.arrive(calls, exploration.states))
    ]


async def _compare(exploration: ExplorationRun, visits: Sequence[VisitedState], play: Play) -> None:
    """Repeats the reads and final changes of every state with its rows reversed. If a result
    differs, or has nothing to be compared with, also on the state as it is, to find the cause."""
    turned = await play([visit.begin(turn_rows(visit.state)) for visit in visits])
    parted = [visit for visit, calls in zip(visits, turned, strict=True) if not visit.agrees(calls)]
    alone = dict(
        zip(
            map(id, parted), await play([visit.begin(visit.state) for visit in parted]), strict=True
        )
    )
    for visit, calls in zip(visits, turned, strict=True):
        one = alone.get(id(visit), calls)
        exploration.read_pairs += visit.pair_reads("written", one, visit.told)
        exploration.write_pairs += visit.pair_ends(one, exploration.states)
        if one is not calls:
            exploration.read_pairs += visit.pair_reads("turned", one, calls)


class _FinalChanges:
    """Chooses changes for the end of a chain: such as used no clock, id or randomness, and came
    before any other change of their session. Those chosen least so far come first."""

    def __init__(self, exploration: ExplorationRun) -> None:
        self._taken: dict[str, int] = {}
        self._known: dict[int, dict[str, Call]] = {}
        for observed in exploration.writes():
            if not observed.seen.uses and not observed.route:
                self._known.setdefault(id(observed.start), {}).setdefault(
                    observed.call.name, observed.call
                )

    def take(self, writes: Sequence[ObservedCall]) -> tuple[Call, ...]:
        known, own = (
            self._known.get(id(writes[0].start), {}),
            {observed.call.name for observed in writes},
        )
        names = sorted(known, key=lambda name: (self._taken.get(name, 0), name in own))[
            :_FINAL_CHANGES
        ]
        self._taken.update({name: self._taken.get(name, 0) + 1 for name in names})
        return tuple(known[name] for name in names)


def _pick_reads(
    exploration: ExplorationRun, state: Json, writes: Sequence[ObservedCall]
) -> tuple[Call, ...]:
    """Successful queries, and these again for rows that the writes touched and rows that those
    refer to. Without writes, for the first and last row of each collection."""
    near = (
        {key for write in writes for key in _find_near(exploration, write)}
        if writes
        else _find_ends(state)
    )
    queues: list[list[Call]] = []
    for tool in exploration.tools.values():
        if tool.effect == "query":
            done = [
                observed.call
                for observed in exploration.of(tool.name)
                if observed.seen.outcome == "ok" and observed.why in ("test", "drawn")
            ]
            queues.append([*_aim(exploration, done[:1], state, near), *done[:2]])
    # Tools take turns, so that the reads of one tool do not crowd out those of others.
    reads = (call for turn in zip_longest(*queues) for call in turn if call)
    distinct = {canonical_json([call.name, call.arguments]): call for call in reads}
    return tuple(islice(distinct.values(), _READS))


def _find_near(exploration: ExplorationRun, write: ObservedCall) -> set[str]:
    """Keys and all other texts of touched rows that still exist. Among them are the keys of the
    rows they refer to."""
    touched = {tuple(change.path[:2]) for change in exploration.diff(write)}
    return _name(
        [row for row in exploration.rows(write.after) if (row.collection, row.key) in touched]
    )


def _find_ends(state: Json) -> set[str]:
    """Keys of the first and last rows, and of rows they refer to: faults at the ends of lists show
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
    exploration: ExplorationRun, calls: Sequence[Call], state: Json, near: set[str]
) -> Iterator[Call]:
    for call in calls:
        for name in call.arguments:
            column = exploration.offers.find_column(call.name, name, state)
            values = [value for row, value in column if row.key in near]
            yield from (
                call.model_copy(update={"arguments": call.arguments | {name: value}})
                for value in values[:_AIMED]
            )


async def explore_holes(exploration: ExplorationRun, play: Play) -> None:
    """Repeats changes that add a row, where its key already exists and another row is missing; not
    if ids are random or given. A program that numbers rows by their count overwrites that row."""
    holes = list[_Hole]()
    for write in (observed for calls in pick_writes(exploration).values() for observed in calls):
        if write.seen.uses.get("ids") or write.seen.uses.get("randomness"):
            continue
        added = next(
            (
                change
                for change in exploration.diff(write)
                if change.op == "add" and len(change.path) == 2
            ),
            None,
        )
        if added is None or added.path[1] in set(map(str, list_scalars(write.call.arguments))):
            continue
        if (
            hole := _make_hole(exploration.states[write.before], added.path, write.call)
        ) is not None:
            holes.append(hole)
    filled = await _play_holes(holes, [hole.filled for hole in holes], exploration, play)
    short = [
        hole
        for hole, test in filled
        if test.one.outcome == "ok" and not _adds(test, hole.place[:1])
    ]
    emptied = await _play_holes(short, [hole.emptied for hole in short], exploration, play)
    # If the same key comes again with one row less, it does not depend on the number of rows.
    about = [hole for hole, test in emptied if _adds(test, hole.place)]
    exploration.hole_tests += [
        test for hole, test in filled if not any(hole is one for one in about)
    ]


@dataclass(frozen=True)
class _Hole:
    """A change that adds a row, and two states for testing its key."""

    call: Call
    place: list[str]
    filled: Json
    """A row that no other refers to has the key that the change would assign."""
    emptied: Json
    """That row is removed."""


async def _play_holes(
    holes: Sequence[_Hole], starts: Sequence[Json], exploration: ExplorationRun, play: Play
) -> list[tuple[_Hole, HoleTest]]:
    plans = [
        SessionPlan(state, (), (("drawn", hole.call),), looks=True)
        for hole, state in zip(holes, starts, strict=True)
    ]
    states, found = exploration.states, list[tuple[_Hole, HoleTest]]()
    for (observed,), hole in zip(await play(plans), holes, strict=True):
        if observed.before in states and observed.after in states:
            ends = states[observed.before], states[observed.after]
            found.append((hole, HoleTest(observed.call, hole.place, observed.seen, ends)))
    return found


def _adds(test: HoleTest, place: Sequence[str]) -> bool:
    return any(
        change.op == "add" and change.path[: len(place)] == place
        for change in diff_states(*test.states)
    )


def _make_hole(state: Json, place: list[str], call: Call) -> _Hole | None:
    """None if the collection is empty or a list, or if every key occurs more than twice in the
    state: as key, as `id`, and in a reference."""
    collection, key = place
    others = [row for row in list_rows(state) if row.collection == collection]
    free = [row for row in others if sum(value == row.key for value in list_scalars(state)) <= 2]
    if not free or not is_object(state[collection]):
        return None
    renamed = {
        name: key if value == free[-1].key else value for name, value in free[-1].value.items()
    }
    left = {name: row for name, row in state[collection].items() if name != free[-1].key}
    return _Hole(
        call, place, state | {collection: left | {key: renamed}}, state | {collection: left}
    )
