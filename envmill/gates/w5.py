"""W5: replay. The same seed and clock in a process with another hash seed and shaken memory give the same; others keep every test true.

tests' sessions ─► here ─► elsewhere     differ: find_chance names what leaks in
                ─► later that day, another seed     tests that turn red needed one moment or one draw
                ─► another month     dates that a change wrote all the same: the clock is not read
"""

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from envmill.gates.base import Built, Finding, Means, drop, keep, skip
from envmill.gates.plans import play_plans
from envmill.gates.rows import list_scalars
from envmill.gates.stops import Tour
from envmill.gates.tour import take_tour
from envmill.gates.w3 import list_failures, play_tests
from envmill.kinds.chance import find_chance
from envmill.kinds.replay import tell
from envmill.kinds.start import CLOCK, start_test
from envmill.runtime.recorder import Difference, find_difference
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Step
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json
from schemas.environment import Call, Test

GATE = "W5"

_SESSIONS = 48
"""Tests played again."""
_SHAKEN = 16
"""One session in so many starts with shuffled memory, which costs as much as twenty calls."""
_STARTS, _READS = 2, 64
"""States of the tour on which its reads are made again, and how many."""
_LATER = "2026-03-02T13:37:21.482913+00:00"
"""The same working day, so that a rule about dates or opening hours says what it said."""
_AWAY = "2026-04-23T10:11:12+00:00"
"""A day on which no date of the tests is today's."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\d")
_WRITTEN_DATE = re.compile(r"\b(?:date|datetime)\(\s*\d{4}\s*,|[\"']\d{4}-\d\d-\d\d")
"""A date in the text of a program: without one, what stays the same was computed from what is stored."""
_NEVER = ("0001", "1900", "1970", "9999")
"""Years that stand for no date at all."""


@dataclass(frozen=True)
class _Session:
    """Tests that are played one after the other on one state: only what is to change nothing stands beside others."""

    tests: tuple[Test, ...]

    def plan(self, clock: str = CLOCK, seed: int = 0) -> list[Step]:
        """With a look at the end, which costs little and shows what was written."""
        begin = replace(start_test(self.tests[0]), clock=clock, seed=seed)
        return [begin, *map(Invoke, self.list_calls()), Look()]

    def list_calls(self) -> list[Call]:
        return [call for test in self.tests for call in (*test.setup, test.call)]

    def share(self, seen: Sequence[Observation]) -> Iterator[tuple[Test, list[Observation]]]:
        """What each test saw: the start, the calls before its own, its own."""
        rest = iter(seen[1:])
        for test in self.tests:
            yield test, [seen[0], *islice(rest, len(test.setup) + 1)]


async def look(built: Built, means: Means) -> Finding:
    """Tests are the sessions: they reach every tool by paths that are known to be right."""
    tests = built.tests[:_SESSIONS]
    if not tests:
        return skip(GATE, "no_tests", "nothing is known that could be played again: write tests, three a tool")
    program, sessions = Program.of(built.environment), list(_share_sessions(built, tests))
    wide = _plan_reads(await take_tour(built, means))
    here, later, away, beside = await _play_here(program, sessions, wide, built, means)
    plans = [*(one.plan() for one in sessions), *wide]
    there = await _play_there(program, plans, means)
    for plan, one, other in zip(plans, [*here, *beside], there, strict=True):
        # Told apart in full only where something differs.
        if one != other and (difference := find_difference(tell(one), tell(other))):
            return await _name_chance(program, plan, difference, means.sandbox)
    if failures := await _find_failures(built, sessions, later, means):
        return drop(GATE, "needs_a_moment", f"at {_LATER} with another seed: {failures[0]['seen']}", failures[:5])
    for session, one, other in zip(sessions, here, away, strict=False):
        if fixed := _find_fixed_date(session, one[-1].state, other[-1].state):
            call = session.list_calls()[-1]
            return drop(GATE, "clock_ignored", f"{call.name} writes {fixed} on {CLOCK[:10]} and on {_AWAY[:10]}", call.model_dump())
    return keep(GATE, {"tests": len(tests), "sessions": len(sessions)})


def _share_sessions(built: Built, tests: Sequence[Test]) -> Iterator[_Session]:
    """Queries and refusals of one state together, first; every change that succeeds on its own."""
    queries = {tool.name for tool in built.environment.tools if tool.effect == "query"}
    still: dict[str, list[Test]] = {}
    for test in tests:
        if not test.setup and (test.expect == "rejection" or test.call.name in queries):
            still.setdefault(canonical_json(test.initial_state), []).append(test)
    shared = {test.id for held in still.values() for test in held}
    yield from (_Session(tuple(held)) for held in still.values())
    yield from (_Session((test,)) for test in tests if test.id not in shared)


Played = list[list[Observation]]


async def _play_here(
    program: Program, sessions: Sequence[_Session], wide: Sequence[list[Step]], built: Built, means: Means
) -> tuple[Played, Played, Played, Played]:
    """As the tests say; later that day with another seed; in another month, where a date is written in the text; and reads beside them."""
    dated = any(map(_WRITTEN_DATE.search, built.environment.files.values()))
    plans = [
        *(one.plan() for one in sessions),
        *(one.plan(clock=_LATER, seed=means.seed + 1)[:-1] for one in sessions),
        *wide,
        *(one.plan(clock=_AWAY) for one in sessions if dated),
    ]
    played, count = await play_plans(program, plans, means.sandbox), len(sessions)
    return played[:count], played[count : 2 * count], played[2 * count + len(wide) :], played[2 * count : 2 * count + len(wide)]


async def _play_there(program: Program, plans: Sequence[list[Step]], means: Means) -> Played:
    """In the other process, with shaken memory now and then."""
    shaken = [[replace(plan[0], shaken=0 if number % _SHAKEN else 1 + means.seed % 7), *plan[1:]] for number, plan in enumerate(plans)]
    return await play_plans(program, shaken, means.sandbox.elsewhere)


def _plan_reads(tour: Tour) -> list[list[Step]]:
    """What queries answered on the tour, from where it began: an order that is left to chance shows in the longer of many answers."""
    plans: list[list[Step]] = []
    for start in tour.starts[:_STARTS]:
        asked = [stop for stop in tour.stops if stop.start is start and not stop.route and stop.seen.outcome == "ok"]
        calls = {canonical_json([stop.call.name, stop.call.arguments]): stop.call for stop in asked if tour.is_query(stop.call.name)}
        plans.append([Reset(start, CLOCK, 0), *map(Invoke, list(calls.values())[:_READS])])
    return plans


async def _find_failures(built: Built, sessions: Sequence[_Session], later: Played, means: Means) -> list[Json]:
    """Tests that are red by then, and stay so on their own."""
    seen = [one for session, played in zip(sessions, later, strict=True) for one in session.share(played)]
    red = [test for test, played in seen if list_failures([(test, played)])]
    if not red:
        return []
    alone = await play_tests(
        built.environment, red, means.sandbox, lambda test: replace(start_test(test), clock=_LATER, seed=means.seed + 1)
    )
    return list_failures(alone)


async def _name_chance(program: Program, plan: Sequence[Step], difference: Difference, sandbox: Sandbox) -> Finding:
    steps = [step for step in plan if not isinstance(step, Look)]
    calls = [step.call for step in steps[: difference.step + 1] if isinstance(step, Invoke)]
    call = calls[-1] if calls else next(step.call for step in steps if isinstance(step, Invoke))
    found = [one for one in await find_chance(program, steps, sandbox, sandbox.elsewhere) if not one.controlled]
    if not found:
        return drop(GATE, "differs", f"{call.name} comes out otherwise in another process: {difference}", str(difference))
    told = [{"source": one.source, "step": one.step, "path": list(one.path), "seen": list(one.seen)} for one in found]
    return drop(GATE, found[0].source, f"{call.name} depends on {found[0]}", {"call": call.model_dump(), "chance": told})


def _find_fixed_date(session: _Session, here: Json, away: Json) -> str:
    """A date a change wrote that the clock, the caller and the state have nothing to do with."""
    start = session.tests[0].initial_state
    known = {str(value) for value in list_scalars([start, [call.arguments for call in session.list_calls()]])}
    both = set(_list_dates(start, here)) & set(_list_dates(start, away))
    today = {moment[:10] for moment in (CLOCK, _AWAY)}
    return next((date for date in sorted(both) if date not in known and date[:10] not in today | known and not date.startswith(_NEVER)), "")


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
