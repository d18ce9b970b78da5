"""W5: replay. The same seed and clock in a process with another hash seed and shaken memory give the same; others keep every test true.

tests' sessions ─► here ─► elsewhere     differ: find_chance names what leaks in
                ─► later that day, another seed     tests that turn red needed one moment or one draw
                ─► another month     dates that a change wrote all the same: the clock is not read
"""

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from envmill.gates.base import Built, Finding, Means, drop, keep, skip
from envmill.gates.rows import list_scalars
from envmill.gates.w3 import list_failures, play_tests
from envmill.kinds.chance import find_chance
from envmill.kinds.replay import tell
from envmill.kinds.start import CLOCK, start_test
from envmill.runtime.recorder import Difference, find_difference
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Step
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.environment import Test

GATE = "W5"

_SESSIONS = 48
"""Tests played again."""
_SHAKEN = 12
"""One session in so many starts with shuffled memory, which costs as much as twenty calls."""
_LATER = "2026-03-02T13:37:21.482913+00:00"
"""The same working day, so that a rule about dates or opening hours says what it said."""
_AWAY = "2026-04-23T10:11:12+00:00"
"""A day on which no date of the tests is today's."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\d")
_WRITTEN_DATE = re.compile(r"\b(?:date|datetime)\(\s*\d{4}\s*,|[\"']\d{4}-\d\d-\d\d")
"""A date in the text of a program: without one, what stays the same was computed from what is stored."""
_NEVER = ("0001", "1900", "1970", "9999")
"""Years that stand for no date at all."""


async def look(built: Built, means: Means) -> Finding:
    """Tests are the sessions: they reach every tool by paths that are known to be right."""
    tests = built.tests[:_SESSIONS]
    if not tests:
        return skip(GATE, "no_tests", "nothing is known that could be played again: write tests, three a tool")
    program = Program.of(built.environment)
    here = await _play(program, tests, means.sandbox)
    there = await _play(program, tests, means.sandbox.elsewhere, shaken=1 + means.seed % 7)
    for test, one, other in zip(tests, here, there, strict=True):
        if difference := find_difference(tell(one), tell(other)):
            return await _name_chance(program, test, difference, means.sandbox)
    later = await play_tests(
        built.environment, tests, means.sandbox, lambda test: replace(start_test(test), clock=_LATER, seed=means.seed + 1)
    )
    if failures := list_failures(later):
        return drop(GATE, "needs_a_moment", f"at {_LATER} with another seed: {failures[0]['seen']}", failures[:5])
    if not any(map(_WRITTEN_DATE.search, built.environment.files.values())):
        return keep(GATE, {"sessions": len(tests)})
    away = await _play(program, tests, means.sandbox, clock=_AWAY)
    for test, one, other in zip(tests, here, away, strict=True):
        if fixed := _find_fixed_date(test, one[-1].state, other[-1].state):
            return drop(
                GATE, "clock_ignored", f"{test.call.name} writes {fixed} on {CLOCK[:10]} and on {_AWAY[:10]}", test.call.model_dump()
            )
    return keep(GATE, {"sessions": len(tests)})


async def _play(program: Program, tests: Sequence[Test], sandbox: Sandbox, shaken: int = 0, clock: str = CLOCK) -> list[list[Observation]]:
    plans = [_plan(test, clock=clock, shaken=0 if number % _SHAKEN else shaken) for number, test in enumerate(tests)]
    seen = iter(await sandbox.play(program, [step for plan in plans for step in plan]))
    return [list(islice(seen, len(plan))) for plan in plans]


def _plan(test: Test, **changes: Json) -> list[Step]:
    begin: Reset = replace(start_test(test), **changes)
    return [begin, *map(Invoke, test.setup), Invoke(test.call), Look()]


async def _name_chance(program: Program, test: Test, difference: Difference, sandbox: Sandbox) -> Finding:
    found = [one for one in await find_chance(program, _plan(test)[:-1], sandbox, sandbox.elsewhere) if not one.controlled]
    if not found:
        return drop(GATE, "differs", f"{test.call.name} comes out otherwise in another process: {difference}", str(difference))
    told = [{"source": one.source, "step": one.step, "path": list(one.path), "seen": list(one.seen)} for one in found]
    return drop(GATE, found[0].source, f"{test.call.name} depends on {found[0]}", {"call": test.call.model_dump(), "chance": told})


def _find_fixed_date(test: Test, here: Json, away: Json) -> str:
    """A date a change wrote that the clock, the caller and the state have nothing to do with."""
    known = {str(value) for value in list_scalars([test.initial_state, [call.arguments for call in (*test.setup, test.call)]])}
    both = set(_list_dates(test, here)) & set(_list_dates(test, away))
    today = {moment[:10] for moment in (CLOCK, _AWAY)}
    return next((date for date in sorted(both) if date not in known and date[:10] not in today | known and not date.startswith(_NEVER)), "")


def _list_dates(test: Test, state: Json) -> Iterator[str]:
    for change in diff_states(test.initial_state, state):
        for value in list_scalars(change.after):
            if isinstance(value, str) and _DATE.match(value) and _is_date(value[:10]):
                yield value


def _is_date(text: str) -> bool:
    try:
        return bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False
