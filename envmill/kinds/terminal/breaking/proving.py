"""The composer's proof: nothing is offered that was not taken from healthy over broken to mended,
in orders that show what hides what.

healthy ──break all──► broken ──mend one──► still broken ── … ──mend the last──► healthy, as it was ──restart──► healthy
                                (every strict prefix; up to three faults, every strict subset)
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from envmill.kinds.terminal.breaking.composing import find_shared
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import is_below, is_compiled, take_ground
from envmill.sandbox.machines.frame import BaseListing, Frame, list_frame
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import Containers, check_health, restart, run, set_up
from schemas.system import BrokenSystem, Fault, Proof

REPEATS = 5
"""Walks at least: what is only sometimes broken, or only sometimes mended, shows."""
ENDS = 4
"""Looks beyond one at each station: twice at both ends of the mending, before anything was broken,
and after a restart."""
ROTATED = 3
"""Up to so many faults their rotations reach every strict subset."""


class CompositionRefused(Exception):
    """The composition does not hold: a reason code, and what was seen."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


class MachineRun(NamedTuple):
    """What one machine showed."""

    symptoms: list[dict[str, str]]
    """Before any mend, then after each: probe → what is wrong."""
    checks: int


async def prove(
    healthy: Healthy,
    broken: BrokenSystem,
    containers: Containers,
    repeats: int = REPEATS,
    find_ground: Callable[[], Awaitable[BaseListing]] | None = None,
) -> Proof:
    """A refusal carries its reason: nothing is dropped without one. What the containers stand on
    is listed here, unless it is known elsewhere."""
    faults = broken.faults[::-1]
    try:
        _compare_places(faults)
        orders = _list_orders(len(faults), repeats)
        if find_ground:
            ground = await find_ground()
        else:
            async with containers() as container:
                ground = await take_ground(container, healthy)
        walks = [
            await _walk(healthy, broken, [faults[each] for each in order], containers, ground)
            for order in orders
        ]
        _compare_walks(orders, walks)
    except CompositionRefused as refusal:
        return Proof(reason=refusal.reason, detail=refusal.detail)
    hidden = {} if len(faults) == 1 else dict(_find_hidden(faults, orders, walks))
    return Proof(
        symptoms=walks[0].symptoms[0],
        hidden=hidden,
        walks=len(walks),
        checks=sum(each.checks for each in walks),
    )


async def mend(container: Container, fault: Fault) -> None:
    """One step of the oracle."""
    await _apply(container, fault.mend_script, "mend_failed", fault)


async def break_down(container: Container, broken: BrokenSystem) -> None:
    """All faults, while nothing runs: a service that ends tidily would take some of them away
    again."""
    await run(container, f"{SERVICES} stop")
    for fault in broken.faults:
        await _apply(container, fault.break_script, "break_failed", fault)
    await run(container, f"{SERVICES} start")


async def _walk(
    healthy: Healthy,
    broken: BrokenSystem,
    order: Sequence[Fault],
    containers: Containers,
    ground: BaseListing,
) -> MachineRun:
    async with containers() as container:
        await set_up(container, healthy)
        await _expect_health(container, healthy, ground, "unhealthy")
        before = await list_frame(container, healthy, ground)
        await break_down(container, broken)
        symptoms = [await _see_symptoms(container, healthy, ground, order, 0)]
        _expect_places(before, await list_frame(container, healthy, ground), broken)
        for count, fault in enumerate(order, 1):
            await mend(container, fault)
            await restart(container, healthy)
            symptoms.append(await _see_symptoms(container, healthy, ground, order, count))
        _expect_frame(before, await list_frame(container, healthy, ground), broken)
        await restart(container, healthy)
        await _expect_health(container, healthy, ground, "not_lasting")
    return MachineRun(symptoms, len(symptoms) + ENDS)


async def _see_symptoms(
    container: Container, healthy: Healthy, ground: BaseListing, order: Sequence[Fault], mended: int
) -> dict[str, str]:
    """Asked twice at both ends, for a check that disturbs what it looks at would judge the next one
    by its own traces."""
    said = _keep_bad(await check_health(container, healthy, ground.library))
    again = (
        said
        if 0 < mended < len(order)
        else _keep_bad(await check_health(container, healthy, ground.library))
    )
    if set(said) != set(again):
        raise CompositionRefused(
            "check_not_idempotent", f"first {sorted(said)}, then {sorted(again)}"
        )
    names = [_name(each) for each in order]
    if mended < len(order) and not said:
        reason = (
            "silent"
            if len(order) == 1
            else "broken_is_healthy"
            if mended == 0
            else "mended_too_soon"
        )
        raise CompositionRefused(
            reason, f"the check sees nothing, with {names[mended:]} still there"
        )
    if mended == len(order) and said:
        raise CompositionRefused("not_mended", f"after {names}: {said}")
    return said


async def _expect_health(
    container: Container, healthy: Healthy, ground: BaseListing, reason: str
) -> None:
    if said := _keep_bad(await check_health(container, healthy, ground.library)):
        raise CompositionRefused(reason, str(said))


def _expect_places(before: Frame, after: Frame, broken: BrokenSystem) -> None:
    if stray := [
        path
        for path in before.find_changed(after)
        if not is_below(path, list_places(broken)) and not is_compiled(path)
    ]:
        raise CompositionRefused("undeclared_change", f"breaking it changes {stray[:5]}")


def _expect_frame(before: Frame, after: Frame, broken: BrokenSystem) -> None:
    if left := [path for path in before.find_changed(after) if not is_compiled(path)]:
        raise CompositionRefused(
            "not_the_opposite",
            f"after {[_name(each) for each in broken.faults]} were mended, {left[:5]} differ",
        )


def list_places(broken: BrokenSystem) -> list[str]:
    return [place for fault in broken.faults for place in fault.places]


def _compare_places(faults: Sequence[Fault]) -> None:
    for index, one in enumerate(faults):
        for other in faults[:index]:
            if shared := find_shared(one, other):
                raise CompositionRefused(
                    "same_place", f"{_name(one)} and {_name(other)} both change {shared}"
                )


def _list_orders(count: int, repeats: int) -> list[tuple[int, ...]]:
    """Orders of mending. Rotations of up to three reach every strict subset; of more, the oracle's
    own order is repeated."""
    own = tuple(range(count))
    rotations = [own[start:] + own[:start] for start in range(count)] if count <= ROTATED else [own]
    return [rotations[turn % len(rotations)] for turn in range(max(repeats, len(rotations)))]


def _compare_walks(orders: list[tuple[int, ...]], walks: list[MachineRun]) -> None:
    """The same faults show the same symptoms, every time: else it is a matter of luck."""
    seen: dict[frozenset[int], set[str]] = {}
    for order, walk in zip(orders, walks, strict=True):
        for mended, symptoms in enumerate(walk.symptoms):
            there = frozenset(order[mended:])
            if seen.setdefault(there, set(symptoms)) != set(symptoms):
                raise CompositionRefused(
                    "flaky", f"{sorted(seen[there])} once, {sorted(symptoms)} another time"
                )


def _find_hidden(
    faults: Sequence[Fault], orders: list[tuple[int, ...]], walks: list[MachineRun]
) -> Iterator[tuple[str, str]]:
    """A fault hides another when both together show no more than it shows alone."""
    shows = {
        frozenset(order[mended:]): walk.symptoms[mended]
        for order, walk in zip(orders, walks, strict=True)
        for mended in range(len(order))
    }
    for pair in [each for each in shows if len(each) == 2]:
        for one, other in (sorted(pair), sorted(pair)[::-1]):
            with suppress(KeyError):
                if shows[frozenset((one,))] == shows[pair]:
                    yield _name(faults[other]), _name(faults[one])


async def _apply(container: Container, script: str, reason: str, fault: Fault) -> None:
    ran = await run(container, f"set -e\numask 022\n{script}")
    if ran.code:
        raise CompositionRefused(reason, f"{_name(fault)}: exit code {ran.code}, {ran.text[-300:]}")


def _keep_bad(said: dict[str, str]) -> dict[str, str]:
    return {probe: words for probe, words in said.items() if words}


def _name(fault: Fault) -> str:
    return f"{fault.operator} at {fault.handle}"
