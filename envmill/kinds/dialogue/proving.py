"""What is composed, proved by execution: every claim of an atom, and of atoms together, is played in the jail.

healthy state ─► settled, all mended?   broken ─► settled, not mended? ─► path ─► not mended after each strict prefix, mended at the end
                                                     path without the user's changes, without the agent's, without one change ─► not mended
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.dialogue.atoms import make_calls, read_field
from envmill.kinds.dialogue.composing import break_state, list_path
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Step
from envmill.sandbox.batches import play_plans
from schemas.base import Json, canonical_json, order_keys
from schemas.dialogue import Atom, Dialogue, Repertoire, StateCondition
from schemas.environment import Call, Environment

GATE = "atoms"
_ROUNDS = 3
"""Looks after which couplings must have come to rest."""
_SEARCHED, _DEEP = 200, 3
"""Sequences of one side's changes that are tried against an atom, and their length."""


@dataclass(frozen=True)
class Proved:
    """A selection that holds: where it starts, and the path that mends it."""

    state: dict[str, Json]
    path: list[Call]


@dataclass(frozen=True)
class Bench:
    """What is proved, and with what."""

    environment: Environment
    dialogue: Dialogue
    repertoire: Repertoire
    sandbox: Sandbox
    seed: int = 0

    @property
    def changes(self) -> frozenset[str]:
        """What unlocks a tool is one, whatever it is called."""
        unlocking = {found.by.name for found in self.dialogue.discoverable.values()}
        return frozenset(
            tool.name
            for tool in self.environment.tools
            if tool.effect == "change" or tool.name in unlocking
        )

    @property
    def asked(self) -> frozenset[str]:
        """What the policy asks for first, and hands over with: needed whatever the program does."""
        first = {one.first.name for one in self.dialogue.clauses if one.first}
        handing = {one.call.name for one in self.dialogue.clauses if one.effect == "hand_over"}
        return frozenset(first | handing)

    async def play(
        self, state: Mapping[str, Json], steps: Sequence[Step], *, in_place: bool = False
    ) -> list[Observation]:
        plan = [Reset(state=dict(state), clock=CLOCK, seed=self.seed), *steps]
        program = Program.of(self.environment)
        seen = await self.sandbox.play(program, plan, hashes="none", in_place=in_place)
        if seen[0].outcome != "ok":
            raise BuildError(f"A session does not start: {seen[0].message}")
        return seen[1:]

    async def settle(self, state: Mapping[str, Json]) -> dict[str, Json]:
        """The state as the couplings leave it, before anybody changed anything. Paths go on from it in
        fresh sessions, and a look that changes it is refused there."""
        first = make_calls(self.repertoire.begins[:1], self.dialogue)
        steps = [step for _ in range(_ROUNDS) for step in (Invoke(first[0]), Look())]
        seen = await self.play(state, steps, in_place=True)
        if any(one.outcome != "ok" for one in seen) or seen[-1].state != seen[-3].state:
            seen = await self.play(state, steps)
        for place, one in enumerate(seen):
            if one.outcome != "ok":
                what = first[0].name if place % 2 == 0 else "a look at the state"
                raise BuildError(
                    f"`begins`: {what} ends in {one.outcome} ({one.code}: {one.message})"
                )
        if seen[-1].state != seen[-3].state:
            raise BuildError(
                "The couplings come to no rest: the same look changes the state again and again."
            )
        return order_keys(seen[-1].state or {})


async def prove_atoms(bench: Bench) -> tuple[Complaint, ...]:
    """Each atom alone; a fault of the healthy state is told alone, since all else rests on it."""
    try:
        healthy = await bench.settle(bench.repertoire.state)
    except BuildError as error:
        return (Complaint(GATE, "not_settled", error.message),)
    found = [*_list_unhealthy(healthy, bench.repertoire)]
    for atom in bench.repertoire.atoms if not found else ():
        found += [
            Complaint(GATE, code, f"The atom {atom.id} {words}.")
            for code, words in await _prove_atom(atom, bench)
        ]
    return tuple(found)


async def _prove_atom(atom: Atom, bench: Bench) -> list[tuple[str, str]]:
    proved = await prove((atom,), bench)
    if not isinstance(proved, Proved):
        return [proved]
    return [] if atom.unfixable else await _search_one_sided(atom, proved, bench)


async def prove(atoms: Sequence[Atom], bench: Bench) -> Proved | tuple[str, str]:
    """What starts broken and ends mended; or (reason code, words for the author)."""
    try:
        state = await bench.settle(break_state(bench.repertoire, atoms))
    except BuildError as error:
        return "not_settled", f"cannot be settled: {error.message}"
    for atom in atoms:
        if is_mended(state, atom):
            return (
                "not_broken",
                f"is not broken after `breaks`: {_render(atom.mended)} holds already",
            )
    path = list_path(bench.repertoire, atoms, bench.dialogue)
    first = await _prove_path(atoms, state, path, bench)
    late = _make_late(path, bench.changes)
    if isinstance(first, Proved) or late == path:
        return first
    second = await _prove_path(atoms, state, late, bench)
    return second if isinstance(second, Proved) else first


async def _prove_path(
    atoms: Sequence[Atom], state: dict[str, Json], path: Sequence[Call], bench: Bench
) -> Proved | tuple[str, str]:
    """Of atoms that meet, a change that another atom's fix made idle is left out."""
    seen, whole = await _walk(state, path, bench), len(path)
    path = _drop_idle_repeats(path, state, seen)
    if len(path) < whole:
        seen = await _walk(state, path, bench)
    while True:
        if fault := _judge_path(atoms, state, path, seen, bench):
            return fault
        without = await _judge_without(atoms, state, path, seen, bench)
        if without is None:
            return Proved(state, list(path))
        if without.idle is None or len(atoms) == 1:
            return without.code, without.words
        path = [call for place, call in enumerate(path) if place != without.idle]
        seen = await _walk(state, path, bench)


def _make_late(path: Sequence[Call], changes: frozenset[str]) -> list[Call]:
    """With each change that several fixes share at its last place alone: a restart that ends them
    all."""
    return [
        call
        for place, call in enumerate(path)
        if call.name not in changes
        or not any(
            call.name == one.name and call.arguments == one.arguments for one in path[place + 1 :]
        )
    ]


def is_mended(state: Mapping[str, Json], atom: Atom) -> bool:
    """Whether all that shows it holds."""
    return all(_holds(one, state) for one in atom.mended)


def _list_unhealthy(healthy: Mapping[str, Json], repertoire: Repertoire) -> Iterator[Complaint]:
    for atom in repertoire.atoms:
        for one in atom.mended:
            if not _holds(one, healthy):
                value = canonical_json(read_field(healthy, one.row, one.field))
                words = (
                    f"In the healthy state, after the couplings, {one.row} has {one.field} {value}; "
                    f"{atom.id} says that it is mended where {_render([one])}."
                )
                yield Complaint(GATE, "not_healthy", words)


@dataclass(frozen=True)
class _Stop:
    """A call of a path, what it came to, and the state after it."""

    seen: Observation
    state: dict[str, Json]


async def _walk(state: Mapping[str, Json], path: Sequence[Call], bench: Bench) -> list[_Stop]:
    seen = await bench.play(state, [step for call in path for step in (Invoke(call), Look())])
    return [_Stop(call, look.state or {}) for call, look in zip(seen[::2], seen[1::2], strict=True)]


def _drop_idle_repeats(
    path: Sequence[Call], state: Mapping[str, Json], stops: Sequence[_Stop]
) -> list[Call]:
    """Two atoms may begin alike: a call that is there already stays once, unless it does
    something again."""
    kept = list[Call]()
    before = state
    for place, (call, stop) in enumerate(zip(path, stops, strict=True)):
        repeated = any(
            call.name == one.name and call.arguments == one.arguments for one in path[:place]
        )
        if not repeated or (stop.seen.outcome == "ok" and stop.state != before):
            kept.append(call)
        before = stop.state
    return kept


def _judge_path(
    atoms: Sequence[Atom],
    state: Mapping[str, Json],
    path: Sequence[Call],
    stops: Sequence[_Stop],
    bench: Bench,
) -> tuple[str, str] | None:
    """Refused calls, a fix that is done too early, and one that does not mend."""
    for number, (call, stop) in enumerate(zip(path, stops, strict=True), 1):
        if stop.seen.outcome != "ok":
            ended = f"{stop.seen.outcome} ({stop.seen.code}: {stop.seen.message})"
            return (
                "fix_refused",
                f"cannot be mended: call {number} of the "
                f"path, {call.name}({canonical_json(call.arguments)}), ends in {ended}",
            )
    mendable = [atom for atom in atoms if not atom.unfixable]
    before = [state, *(stop.state for stop in stops)]
    for number, call in enumerate(path):
        if call.name not in bench.changes and before[number + 1] != before[number]:
            return (
                "look_changes",
                f"has a look that changes the state: call {number + 1}, {call.name}",
            )
    acting = [place for place, call in enumerate(path) if call.name in bench.changes]
    if not acting:
        return "nothing_changes", "has a path without any call that changes something"
    for atom in mendable:
        if not is_mended(before[-1], atom):
            lacking = _render([one for one in atom.mended if not _holds(one, before[-1])])
            return (
                "not_fixed",
                f"is not mended at the end of the path ({atom.id}): {lacking} does not hold",
            )
    for atom in (one for one in atoms if one.unfixable):
        if is_mended(before[-1], atom):
            return (
                "fixed_after_all",
                f"is called unfixable, and {_render(atom.mended)} holds at the end of its fix",
            )
    for place in range(1, acting[-1] + 1) if mendable and len(mendable) == len(atoms) else ():
        if all(is_mended(before[place], atom) for atom in mendable):
            return (
                "fixed_early",
                f"is mended before its fix is done: after {place} calls, before "
                f"call {acting[-1] + 1}, {path[acting[-1]].name}",
            )
    return None


@dataclass(frozen=True)
class _Needless:
    """What a path does not need: a change, by its place, or a side."""

    code: str
    words: str
    idle: int | None = None


async def _judge_without(
    atoms: Sequence[Atom],
    state: Mapping[str, Json],
    path: Sequence[Call],
    stops: Sequence[_Stop],
    bench: Bench,
) -> _Needless | None:
    """A change that is not needed, and a side that is not. An atom is its user's alone where its
    agent only does what the policy asks for first; a composition needs more of both.

    Each shorter path goes on from the state in which the whole one stood before the first call
    that is left out.
    """
    before = [state, *(stop.state for stop in stops)]
    mendable = [atom for atom in atoms if not atom.unfixable]
    handed = len(mendable) < len(atoms)
    acting = [place for place, call in enumerate(path) if call.name in bench.changes]
    alone = [place for place in acting if path[place].name not in bench.asked] if mendable else []
    sided = acting if len(atoms) > 1 else alone
    sides = sorted({path[place].actor for place in sided} if mendable else ())
    one_less = [(before[place], path[place + 1 :]) for place in alone]
    one_side = [
        (
            before[min(place for place in acting if path[place].actor == side)],
            _leave_out(side, path, bench),
        )
        for side in sides
    ]
    ends = await _end_all([*one_less, *one_side], bench)

    def mends(end: Mapping[str, Json]) -> bool:
        return all(is_mended(end, atom) for atom in mendable)

    # The last one first: what only prepares for an idle step is idle as well.
    for number, place in reversed([*enumerate(alone)]):
        if mends(ends[number]) and mends(*await _end_all([one_less[number]], bench, again=True)):
            return _Needless(
                "idle_step",
                f"is mended without call {place + 1}, {path[place].name}: leave the call "
                f"out, or let `mended` say what it does",
                place,
            )
    for number, side in enumerate(sides if len(sides) > 1 else ()):
        if (
            (side == "user" or not handed)
            and mends(ends[len(alone) + number])
            and mends(*await _end_all([one_side[number]], bench, again=True))
        ):
            return _Needless("one_sided", f"is mended without the {side}")
    return None


def _leave_out(side: str, path: Sequence[Call], bench: Bench) -> list[Call]:
    """What follows the first change of a side, without its changes."""
    bare = [call.actor == side and call.name in bench.changes for call in path]
    first = bare.index(True)
    return [call for call, gone in zip(path[first:], bare[first:], strict=True) if not gone]


async def _end_all(
    paths: Sequence[tuple[Mapping[str, Json], Sequence[Call]]], bench: Bench, *, again: bool = False
) -> list[dict[str, Json]]:
    """Where the calls that are taken lead, for each path from its state. They are played in
    processes that serve again; what is found there is played once more in fresh ones."""
    plans = [
        [Reset(state=dict(state), clock=CLOCK, seed=bench.seed), *map(Invoke, path), Look()]
        for state, path in paths
    ]
    program = Program.of(bench.environment)
    played = await play_plans(program, plans, bench.sandbox, hashes="none", in_place=not again)
    return [seen[-1].state or {} for seen in played]


async def _search_one_sided(atom: Atom, proved: Proved, bench: Bench) -> list[tuple[str, str]]:
    """A bounded search: changes of one side alone, in any order, do not mend what needs
    the other."""
    needed = {call.actor for call in proved.path if call.name in bench.changes - bench.asked}
    found = list[tuple[str, str]]()
    for side, other in (("agent", "user"), ("user", "agent")):
        if other not in needed:
            continue
        changes = _list_changes(side, bench)
        drawn = [one for length in range(1, _DEEP + 1) for one in permutations(changes, length)]
        if len(drawn) > _SEARCHED:
            drawn = random.Random(f"{bench.seed}/{atom.id}/{side}").sample(drawn, _SEARCHED)
        ends = await _end_all([(proved.state, calls) for calls in drawn], bench)
        mending = next(
            (calls for calls, end in zip(drawn, ends, strict=True) if is_mended(end, atom)), None
        )
        if mending is None:
            continue
        (end,) = await _end_all([(proved.state, mending)], bench, again=True)
        if is_mended(end, atom):
            told = ", ".join(call.name for call in mending)
            found.append(("one_sided", f"is mended without the {other}, by {told} alone"))
    return found


def _list_changes(side: str, bench: Bench) -> list[Call]:
    """Changes that this side makes in any fix, and those of its tools that take nothing."""
    steps = make_calls(
        [step for atom in bench.repertoire.atoms for step in atom.fix], bench.dialogue
    )
    bare = [
        Call(name=tool.name, actor=side)
        for tool in bench.environment.tools
        if (tool.name in bench.dialogue.user_tools) is (side == "user")
        and not tool.parameters.get("properties")
    ]
    calls = [call.model_copy(update={"asks": ""}) for call in (*steps, *bare)]
    mine = [call for call in calls if call.actor == side and call.name in bench.changes]
    return list({canonical_json(call.model_dump()): call for call in mine}.values())


def _holds(condition: StateCondition, state: Mapping[str, Json]) -> bool:
    value = read_field(state, condition.row, condition.field)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match condition.op:
        case "is":
            return value == condition.value
        case "is_not":
            return value != condition.value
        case "at_least":
            return number and value >= condition.value
        case "below":
            return number and value < condition.value


def _render(conditions: Sequence[StateCondition]) -> str:
    words = {"is": "is", "is_not": "is not", "at_least": "is at least", "below": "is below"}
    return " and ".join(
        f"{one.field} of {one.row} {words[one.op]} {canonical_json(one.value)}"
        for one in conditions
    )
