"""A whole run with faults on: its tables say what died where and why, what it kept stands an audit,
and kill -9 changes nothing."""

import asyncio
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.lake.journal import read_calls
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEPS
from envmill.sandbox import Sandbox
from envmill.stages.gate_workers import GateWorkers
from schemas.environment import Environment, Test
from schemas.ledger import Lap, ModelCall
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.pipeline.test_runner import ask, contents, settings_in
from tests.pipeline.walker import RUN, walk
from tests.soak import count

SEED = os.environ.get("ENVMILL_SEED", "")
FRESH = 987654
"""Seed of the audit: none of the run's."""
CONFIG = RunConfig(
    environments=count(2, 200),
    scenarios=count(2, 5),
    attempts=count(2, 4),
    search=count(40, 400),
    seed=11,
    mistakes=0.2,
    exporters=("sft", "rl"),
)
KILLS = count(2, 20)
_RETRIES = 3

_PROMISES = """
    select id from exits e where outcome = 'dropped' and (reason = '' or (detail = '' and reason <> 'bad_reply'))
    union all select 'lost between steps: ' || lap || stage from funnel where entered <> kept + dropped + error or error > 0
    union all select id from exits e where outcome = 'dropped' and stage in ('verify', 'filter') and not exists (
        select 1 from attrition a where a.subject = e.subject and a.gate <> 'exit' and a.stage = e.stage and a.reason = e.reason)"""

pytestmark = pytest.mark.soak(area="line")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At full count one that stays: a soak that was cut off goes on where it was."""
    return (
        ROOT / ".envmill/soak-line" / (SEED or "any")
        if count(0, 1)
        else tmp_path_factory.mktemp("line")
    )


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> Settings:
    settings = settings_in(folder / "undisturbed")
    asyncio.run(walk(settings, CONFIG))
    return settings


@pytest.mark.long
def test_the_tables_say_what_died_where_and_why(undisturbed: Settings, folder: Path) -> None:
    assert ask(undisturbed, _PROMISES) == []
    told = ask(
        undisturbed,
        "select lap, stage, outcome, reason, count(*) from exits group by all order by all",
    )
    (folder / "exits.txt").write_text("\n".join(" ".join(map(str, row)) for row in told))
    reached = {(lap, stage) for lap, stage, outcome, _, _ in told if outcome == "kept"}
    assert reached == {(step.lap, step.stage) for step in STEPS}, "the run is too small to tell"


@pytest.mark.long
def test_nothing_kept_fails_an_audit_with_fresh_seeds(
    undisturbed: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if count(1, 0):
        monkeypatch.setattr("envmill.stages.gate_workers.pick_cores", lambda: [0])
    failed = asyncio.run(audit(undisturbed))
    (folder / "audit.txt").write_text("\n".join(map(str, failed)))
    assert not failed


async def audit(settings: Settings) -> list[tuple[str, Finding]]:
    """What the gates say no to, of environments and scenarios whose rollouts are trained on."""
    lake, keepers = Lake(settings.lake), GateWorkers(settings)
    trained = {row[0] for row in ask(settings, "select distinct scenario from trajectories")}
    every = lake.read(Scenario, RUN)
    homes = {one.environment for one in every if one.id in trained}
    houses = {one.id: one for one in lake.read(Environment, RUN) if one.id in homes}
    tests = lake.read(Test, RUN)

    async def look_at_home(house: Environment) -> tuple[str, list[Finding]]:
        built = EnvironmentCase(house, tuple(one for one in tests if one.environment == house.id))
        return house.id, await look(keepers, "environments", built)

    async def look_at(scenario: Scenario) -> tuple[str, list[Finding]]:
        siblings = tuple(
            one
            for one in every
            if one.environment == scenario.environment and one.id != scenario.id
        )
        posed = ScenarioCase(scenario, houses[scenario.environment], siblings)
        return scenario.id, await look(keepers, "scenarios", posed)

    try:
        found = await asyncio.gather(
            *map(look_at_home, houses.values()),
            *(look_at(one) for one in every if one.id in trained),
        )
    finally:
        await keepers.close()
    assert len(found) == len(houses) + len(trained) > 1
    return [
        (name, one)
        for name, findings in found
        for one in findings
        if one.outcome in ("dropped", "error")
    ]


async def look(
    keepers: GateWorkers, lap: Lap, subject: EnvironmentCase | ScenarioCase
) -> list[Finding]:
    """An outage says nothing of the subject: a machine with too much to do leaves deadlines
    behind."""
    means = GateContext(cast(Sandbox, None), seed=FRESH, episodes=CONFIG.search)
    for _ in range(_RETRIES):
        with suppress(SandboxError):
            return await keepers.ask_gates(lap, subject, means)
    return await keepers.ask_gates(lap, subject, means)


@pytest.mark.long
def test_a_run_killed_again_and_again_among_faults_ends_equal(
    undisturbed: Settings, folder: Path
) -> None:
    """Its processes are others than those of the undisturbed run, every second one with a single
    core."""
    disturbed, dice = settings_in(folder / "disturbed"), random.Random(f"{SEED}/line")
    whole, killed = count_batches(undisturbed), 0
    for number in range(KILLS):
        with start_walker(folder / "disturbed", number) as walker:
            while walker.poll() is None and count_batches(disturbed) < whole * number // KILLS:
                time.sleep(0.05)
            time.sleep(dice.uniform(0.0, 1.5))
            killed += walker.poll() is None
            walker.kill()
    with start_walker(folder / "disturbed", KILLS) as walker:
        assert walker.wait() == 0
    assert contents(disturbed) == contents(undisturbed)
    assert set(count_answers(disturbed)) == {1}, "a reply that was on disk was asked for again"
    assert not list((disturbed.home / "journal").rglob("*.jsonl"))
    assert killed


def start_walker(folder: Path, number: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "tests.pipeline.walker",
        str(folder),
        CONFIG.model_dump_json(),
        f"{SEED}/{number}",
    ]
    alone = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if number % 2 else []
    return subprocess.Popen([*alone, *command], cwd=ROOT)


def count_batches(settings: Settings) -> int:
    """How far a run is, whatever the clock says and however often a bucket was tried."""
    return len(
        {
            re.split(r"-a\d", path.stem)[0]
            for path in (Path(settings.lake) / "attrition").rglob("*.parquet")
        }
    )


def count_answers(settings: Settings) -> Sequence[int]:
    """How often each reply that is kept was asked for."""
    kept = [*Lake(settings.lake).read(ModelCall, RUN), *read_calls(settings.home / "journal" / RUN)]
    asked = [(call.request, call.sample) for call in kept if not call.reused and call.answers]
    return [asked.count(each) for each in set(asked)] if len(asked) != len(set(asked)) else [1]
