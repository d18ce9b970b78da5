"""Real model-written environments load in the jail and take every call and every check: what the
jail denies, no honest program asks for.

They are found through ENVMILL_REAL_PROGRAMS, a folder with `environments.json` and
`scenarios.json`, and are never copied here.
"""

import dataclasses
import os
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.interop.importers.adapter import adapt_check
from envmill.sandbox import CheckReply, CheckSession, Look, Observation, Reset, Sandbox, Session
from tests.hostile.honest.adapter import adapt, list_starts, read_environments
from tests.hostile.honest.calls import Sightings, draw_calls
from tests.hostile.honest.denial import find_denials, find_denied_checks
from tests.soak import count

CLOCK = "2024-05-20T09:00:00Z"


@pytest.fixture
def released() -> dict[str, dict[str, Any]]:
    folder = os.environ.get("ENVMILL_REAL_PROGRAMS", "")
    if not folder:
        reason = "ENVMILL_REAL_PROGRAMS names no folder of real model-written environments"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return read_environments(Path(folder))


@pytest.fixture
async def diagnosed(settings: Settings) -> AsyncGenerator[Sandbox]:
    """A jail that names what it denies."""
    async with Sandbox.open(dataclasses.replace(settings, diagnose_denials=True)) as opened:
        yield opened


async def explore(
    session: Session, environment: dict[str, Any], start: dict[str, Any], rounds: int
) -> list[Observation]:
    """Every tool once a round, with what the state showed so far."""
    tools, sightings, dice = adapt(environment).tools, Sightings(), Random(7)
    seen = await session.play([Reset(start, CLOCK, 7), Look()])
    for _ in range(rounds):
        sightings.see(seen[-1].state)
        seen += await session.play([*draw_calls(tools, sightings, dice), Look()])
    return seen


@pytest.mark.long
@pytest.mark.soak(area="sandbox")
async def test_every_call_is_taken_and_nothing_denied(
    released: dict[str, dict[str, Any]], diagnosed: Sandbox, sandbox: Sandbox
) -> None:
    assert all(sandbox.layers()[name] for name in ("landlock", "seccomp"))
    outcomes: Counter[str] = Counter()
    for key, environment in released.items():
        (_, looked) = await sandbox.play(adapt(environment), [Reset({}, CLOCK, 7), Look()])
        for start in list_starts(environment, looked.state or {})[: count(2, 9)]:
            async with (
                diagnosed.session(adapt(environment)) as watched,
                sandbox.session(adapt(environment)) as session,
            ):
                seen = await explore(watched, environment, start, count(4, 40))
                as_usual = await explore(session, environment, start, count(4, 40))
            assert find_denials(seen) == find_denials(as_usual) == [], key
            assert [one.state_hash for one in seen] == [one.state_hash for one in as_usual], key
            assert seen[0].outcome == "ok", seen[0]
            outcomes.update(one.outcome for one in seen)
    assert len(released) == 22
    # The calls reach the programs' own logic: some are done, some refused, and not all are answered
    # by the validator.
    assert min(outcomes["ok"], outcomes["rejection"]) > 100, outcomes


async def judge_checks(
    sandbox: Sandbox, scenario: dict[str, Any], final: dict[str, Any]
) -> list[CheckReply]:
    sources = [adapt_check(one["check_func"]) for one in scenario["checklist_with_func"]]
    return await sandbox.judge(CheckSession(sources, scenario["init_config"], final, CLOCK))


@pytest.mark.long
async def test_every_check_is_taken_and_nothing_denied(
    released: dict[str, dict[str, Any]], diagnosed: Sandbox, sandbox: Sandbox
) -> None:
    found: Counter[bool | None] = Counter()
    for environment in released.values():
        for scenario in environment["scenarios"]:
            async with sandbox.session(adapt(environment)) as session:
                end = (await explore(session, environment, scenario["init_config"], 2))[-1].state
            for state in (scenario["init_config"], end):
                assert state is not None
                findings = await judge_checks(diagnosed, scenario, state)
                assert find_denied_checks(findings) == [], scenario["task_id"]
                assert [one.holds for one in findings] == [
                    one.holds for one in await judge_checks(sandbox, scenario, state)
                ]
                found.update(one.holds for one in findings)
    assert min(found[True], found[False]) > 20, found
    assert found[None] < 0.05 * found.total(), found
