"""W5: replay. The same seed and clock give the same results in a process with another hash seed and
shaken memory. Other seeds and clocks keep every test true.

tests' sessions ─► here ─► elsewhere     differ: find_chance names what leaks in
                ─► another seed                     reads that answer otherwise draw lots
                ─► later that day, another seed     tests that turn red needed one moment or one draw
                ─► another month     dates that a change wrote all the same: the clock is not read
                ─► days later        dates that a change wrote all the same: it was read when the session began
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, keep, mark, skip
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.observations import ObservedCall
from envmill.gates.exploring.rows import list_scalars
from envmill.gates.exploring.shuffled_orders import could_vary_order, list_variants
from envmill.gates.exploring.stored_tests import (
    SEED,
    ReplayedTests,
    StoredTestReplay,
    replay_stored_tests,
)
from envmill.gates.w3 import judge_test, list_failures, play_tests
from envmill.kinds.chance import UNCONTROLLED, find_chance
from envmill.kinds.replay import describe
from envmill.kinds.start import CLOCK, start_test
from envmill.runtime.recorder import Difference, find_difference
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Reset, Sandbox, Step
from envmill.sandbox.batches import play_plans
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.environment import Test
from schemas.ledger import ReasonClass

GATE = "W5"
CODES: Mapping[str, ReasonClass] = {
    **dict.fromkeys(("differs", *sorted(UNCONTROLLED)), "proof"),
    "draws_lots": "proof",
    "needs_a_moment": "proof",
    "clock_stale": "proof",
    # A program may well know a date of its own: the first day of a season, the end of a contract.
    "clock_ignored": "suspicion",
}

_SHAKEN = 2
"""Sessions that start with shuffled memory there: each is a process of its own, and costs as much
as a hundred calls."""
_LATER = "2026-03-02T13:37:21.482913+00:00"
"""A time on the same working day, so that a rule about dates or opening hours gives the same
result."""
_AWAY = "2026-04-23T10:11:12+00:00"
"""A day on which no date of the tests is today's."""
_LONG = 3 * 86400.0
"""Seconds after which a session knows another day."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\d")
_WRITTEN_DATE = re.compile(r"\b(?:date|datetime)\(\s*\d{4}\s*,|[\"']\d{4}-\d\d-\d\d")
"""A date in the text of a program. Without one, an unchanged value was computed from stored
values."""
_DRAWS = re.compile(r"\brandom\s*\(", re.IGNORECASE)
_DRAWN = 3
"""Seeds tried, among them the exploration's."""
_NEVER = ("0001", "1900", "1970", "9999")
"""Years that stand for no date at all."""


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Tests are the sessions: they reach every tool by paths that are known to be right."""
    if not built.tests:
        return skip(
            GATE,
            "no_tests",
            "nothing is known that could be played again: write tests, three a tool",
        )
    replayed = await replay_stored_tests(built, means)
    if parted := await _find_parting(built, await _gather_twice(built, replayed, means), means):
        return parted
    if drawn := await _find_drawn_read(built, means):
        words, sealed = (
            f"{drawn.call.name} reads, and answers otherwise under another seed",
            await _is_sealed(drawn, built, means),
        )
        return mark(drop(GATE, "draws_lots", words, drawn.call.model_dump()), sealed)
    if failures := await _find_failures(built, replayed, means):
        return drop(
            GATE,
            "needs_a_moment",
            f"at {_LATER} with another seed: {failures[0]['seen']}",
            failures[:5],
        )
    for replay, fixed in await _find_fixed_dates(built, replayed, means):
        call = replay.tests[-1].call
        asked = (
            f"Is the date {fixed}, which `{call.name}` writes on {CLOCK[:10]} and on "
            f"{_AWAY[:10]}, meant to be the day of the call?"
        )
        return doubt(
            GATE,
            "clock_ignored",
            f"{call.name} writes {fixed} on {CLOCK[:10]} and on {_AWAY[:10]}",
            asked,
            call.model_dump(),
        )
    for replay, stale in await _find_stale_dates(built, replayed, means):
        call = replay.tests[-1].call
        words = (
            f"{call.name} writes {stale}, and still does {_LONG / 86400:.0f} days later in the "
            "same session: the clock was read once"
        )
        return drop(GATE, "clock_stale", words, call.model_dump())
    return keep(GATE, {"tests": len(built.tests), "sessions": len(replayed)})


Played = list[tuple[list[Step], Sequence[Observation]]]
"""Plans, and the results of their calls."""


async def _gather_twice(
    built: EnvironmentCase, replayed: ReplayedTests, means: GateContext
) -> Played:
    """The sessions played in both processes: the widest ones of the exploration, and all replies of
    queries if an order may depend on chance."""
    exploration = await explore(built, means)
    played, done = Played(), set[str]()
    for calls in exploration.sessions:
        # Each is a process of its own there: one that shows no further tool is not worth it.
        if names := {observed.call.name for observed in calls} - done:
            played.append((_plan(calls), [observed.seen for observed in calls]))
            done |= names
    for replay, seen in replayed:
        if names := {test.call.name for test in replay.tests} - done:
            played.append(_drop_looks(replay.plan(), seen))
            done |= names
    if not could_vary_order(built.environment):
        return played
    variants = list_variants(exploration)
    here = await play_plans(find_program(built.environment), variants, means.sandbox)
    return [*played, *((plan, seen[1:]) for plan, seen in zip(variants, here, strict=True))]


def _plan(calls: Sequence[ObservedCall]) -> list[Step]:
    return [Reset(calls[0].start, CLOCK, SEED), *(Invoke(observed.call) for observed in calls)]


def _drop_looks(
    plan: Sequence[Step], seen: Sequence[Observation]
) -> tuple[list[Step], list[Observation]]:
    """Hashes tell of states as well."""
    kept = [(step, one) for step, one in zip(plan, seen, strict=True) if not isinstance(step, Look)]
    return [step for step, _ in kept], [one for _, one in kept[1:]]


async def _find_parting(
    built: EnvironmentCase, played: Played, means: GateContext
) -> Finding | None:
    """The first session that another process plays otherwise, and why. Memory is shuffled there
    where an order may come of addresses."""
    program, shakes = (
        find_program(built.environment),
        _SHAKEN if could_vary_order(built.environment) else 0,
    )
    plans = [
        [replace(plan[0], shaken=1 + means.seed % 7), *plan[1:]] if number < shakes else plan
        for number, (plan, _) in enumerate(played)
    ]
    dealt = sorted(means.deal(list(zip(played, plans, strict=True))), key=lambda probe: probe[1])
    there = await play_plans(program, [plan for (_, plan), _ in dealt], means.sandbox.elsewhere)
    for (((plan, one), _), sealed), (reset, *other) in zip(dealt, there, strict=True):
        # Told apart in full only where something differs.
        if [*one] != other and (
            difference := find_difference(describe([reset, *one]), describe([reset, *other]))
        ):
            return mark(await _name_chance(program, plan, difference, means.sandbox), sealed)
    return None


async def _find_drawn_read(built: EnvironmentCase, means: GateContext) -> ObservedCall | None:
    """Finds a read that answers by chance. It runs only if the program's text calls `random`: SQL
    draws with this word, and no recorder sees the draw."""
    if not any(map(_DRAWS.search, built.environment.files.values())):
        return None
    exploration = await explore(built, means)
    reads = [
        observed
        for observed in exploration.calls
        if not observed.route
        and observed.seen.outcome == "ok"
        and exploration.is_query(observed.call.name)
    ]
    reads = [
        observed
        for observed in reads
        if means.admits(exploration.is_sealed(observed.call.model_dump()))
    ]
    reads.sort(key=lambda observed: exploration.is_sealed(observed.call.model_dump()))
    plans = [
        [Reset(observed.start, CLOCK, seed), Invoke(observed.call)]
        for observed in reads
        for seed in range(1, _DRAWN)
    ]
    seen = await play_plans(find_program(built.environment), plans, means.sandbox)
    asked = [observed for observed in reads for _ in range(1, _DRAWN)]
    return next(
        (
            observed
            for observed, (_, again) in zip(asked, seen, strict=True)
            if again.parts != observed.seen.parts
        ),
        None,
    )


async def _is_sealed(observed: ObservedCall, built: EnvironmentCase, means: GateContext) -> bool:
    return (await explore(built, means)).is_sealed(observed.call.model_dump())


def _list_moved(replayed: ReplayedTests) -> list[tuple[StoredTestReplay, list[Observation]]]:
    """Sessions that used clock, ids or randomness: to all others, another clock and another seed
    are the same."""
    return [(replay, seen) for replay, seen in replayed if any(one.uses for one in seen)]


async def _find_failures(
    built: EnvironmentCase, replayed: ReplayedTests, means: GateContext
) -> list[Json]:
    """Tests that were green and are red by then, also on their own."""
    moved = _list_moved(replayed)
    plans = [replay.plan(_LATER, means.seed + 1) for replay, _ in moved]
    later = await play_plans(find_program(built.environment), plans, means.sandbox)
    green = {
        test.id
        for replay, seen in moved
        for test, played in replay.share(seen)
        if not judge_test(test, played)
    }
    then = [
        one
        for (replay, _), played in zip(moved, later, strict=True)
        for one in replay.share(played)
    ]
    red = [test for test, played in then if test.id in green and judge_test(test, played)]
    return list_failures(
        await play_tests(
            built.environment, red, means.sandbox, lambda test: _start_later(test, means)
        )
    )


def _start_later(test: Test, means: GateContext) -> Reset:
    return replace(start_test(test), clock=_LATER, seed=means.seed + 1)


async def _find_fixed_dates(
    built: EnvironmentCase, replayed: ReplayedTests, means: GateContext
) -> list[tuple[StoredTestReplay, str]]:
    """Tests after which a date stands in the state that is the same in another month; only a
    written date can be."""
    if not any(map(_WRITTEN_DATE.search, built.environment.files.values())):
        return []
    looked = [(replay, seen) for replay, seen in replayed if replay.session_plan.looks]
    away = await play_plans(
        find_program(built.environment), [replay.plan(_AWAY) for replay, _ in looked], means.sandbox
    )
    found = [
        (replay, _find_fixed_date(replay, one[-1].state, other[-1].state))
        for (replay, one), other in zip(looked, away, strict=True)
    ]
    return [(replay, fixed) for replay, fixed in found if fixed]


async def _find_stale_dates(
    built: EnvironmentCase, replayed: ReplayedTests, means: GateContext
) -> list[tuple[StoredTestReplay, str]]:
    """Tests after which a date stands in the state that depends on when the session began, and not on
    when the change was made.

    Only of a program that asked the clock before any of its tools was called.
    """
    asked = [
        (replay, seen)
        for replay, seen in replayed
        if replay.session_plan.looks and seen[0].uses.get("clock")
    ]
    if not asked:
        return []
    program, plans = (
        find_program(built.environment),
        [(replay.plan(), replay.plan(_AWAY)) for replay, _ in asked],
    )
    late = await play_plans(
        program, [[plan[0], Advance(_LONG), *plan[1:]] for plan, _ in plans], means.sandbox
    )
    away = await play_plans(program, [plan for _, plan in plans], means.sandbox)
    found = [
        (replay, _find_stale_date(replay, seen[-1].state, later[-1].state, other[-1].state))
        for (replay, seen), later, other in zip(asked, late, away, strict=True)
    ]
    return [(replay, stale) for replay, stale in found if stale]


def _find_stale_date(replay: StoredTestReplay, here: Json, later: Json, away: Json) -> str:
    start = replay.session_plan.start
    stayed = set(_list_dates(start, here)) & set(_list_dates(start, later))
    return min(stayed - set(_list_dates(start, away)), default="")


async def _name_chance(
    program: Program, plan: Sequence[Step], difference: Difference, sandbox: Sandbox
) -> Finding:
    steps = [step for step in plan if not isinstance(step, Look)]
    calls = [step.call for step in steps[: difference.step + 1] if isinstance(step, Invoke)]
    call = calls[-1] if calls else next(step.call for step in steps if isinstance(step, Invoke))
    found = [
        one
        for one in await find_chance(program, steps, sandbox, sandbox.elsewhere)
        if not one.controlled
    ]
    if not found:
        return drop(
            GATE,
            "differs",
            f"{call.name} comes out otherwise in another process: {difference}",
            str(difference),
        )
    told = [
        {"source": one.source, "step": one.step, "path": list(one.path), "seen": list(one.seen)}
        for one in found
    ]
    return drop(
        GATE,
        found[0].source,
        f"{call.name} depends on {found[0]}",
        {"call": call.model_dump(), "chance": told},
    )


def _find_fixed_date(replay: StoredTestReplay, here: Json, away: Json) -> str:
    """A date a change wrote that the clock, the caller and the state have nothing to do with."""
    start, calls = (
        replay.session_plan.start,
        [*replay.session_plan.route, *(call for _, call in replay.session_plan.calls)],
    )
    known = {str(value) for value in list_scalars([start, [call.arguments for call in calls]])}
    both = set(_list_dates(start, here)) & set(_list_dates(start, away))
    today = {moment[:10] for moment in (CLOCK, _AWAY)}
    return next(
        (
            date
            for date in sorted(both)
            if date not in known and date[:10] not in today | known and not date.startswith(_NEVER)
        ),
        "",
    )


def _list_dates(start: Json, state: Json) -> Iterator[str]:
    for change in diff_states(start, state):
        for value in list_scalars(change.after):
            if isinstance(value, str) and _DATE.match(value) and _is_date(value[:10]):
                yield value


def _is_date(text: str) -> bool:
    try:
        return bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False
