"""Memory that does not grow with the run: what is held at once, and that many small buckets make what few made."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from envmill.gates.f5 import ProbeCounts
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.pipeline import runner as running
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import STEP, STEPS
from envmill.pipeline.runner import mark_steps
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from flows.opening import open_walk
from schemas.base import Record
from schemas.ledger import Attrition
from schemas.quality import Quarantine
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.tables import TABLES
from tests.gates.specimens.filtering import make_probes
from tests.pipeline.test_runner import settings_in
from tests.specimens import make_environment, make_scenario

CONFIG = RunConfig(
    environments=4, scenarios=4, attempts=2, search=0, seed=5, mistakes=0.2, rehearse=False
)
_TIMES = {"seconds", "happened_at", "try_number"}


@pytest.mark.long
async def test_stripes_of_small_buckets_make_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, at_once = 0, 0
    real = running.Runner._process

    async def process(self: Any, step: Any, subject: Any) -> Any:
        nonlocal most, at_once
        at_once += 1
        most = max(most, at_once)
        try:
            return await real(self, step, subject)
        finally:
            at_once -= 1

    monkeypatch.setattr(running.Runner, "_process", process)
    whole = await _walk(tmp_path / "whole")
    assert most > 6
    most = 0
    for name, value in {"_STRIPES": 2, "_MOST": 3, "_AT_ONCE": 6}.items():
        monkeypatch.setattr(running, name, value)
    striped = await _walk(tmp_path / "striped")
    assert most <= 6, "as many as there is room for"
    for table in TABLES.keys() - {"run_events", "model_calls", "bundles"}:
        assert striped[table] == whole[table], table


async def _walk(folder: Path) -> dict[str, list[dict[str, Any]]]:
    settings = settings_in(folder)
    async with open_walk("r1", CONFIG, settings) as walk:
        await walk.walk(STEPS[:-1])
        assert await walk.plan(STEP["scenarios-collect"]) == [], (
            "nothing is lacking once it is done"
        )
        numbers = {row.try_number for row in walk.lake.read(Attrition, "r1")}
        assert numbers == {1}, (
            "a bucket is saved at its first attempt, however many of a task's it is"
        )
    lake = Lake(settings.lake)
    return {
        table: [one.model_dump(exclude=_TIMES) for one in lake.read(record, "r1")]
        for table, record in TABLES.items()
    }


def test_probes_are_counted_as_their_rollouts_are(tmp_path: Path) -> None:
    """Random ones: of two policies, written twice, set aside, of another group."""
    dice, lake, home = random.Random(11), Lake(tmp_path / "lake"), make_environment()
    recipe = RECIPES[CONFIG.recipe](read_themes(), CONFIG.whole)
    marks = mark_steps(CONFIG, recipe, STEPS)
    scenarios = [make_scenario(home, request=f"Request {number}.") for number in range(30)]
    rollouts = [
        one.model_copy(
            update={
                "scenario": scenario.id,
                "attempt": number,
                "rollout_group": dice.choice(["probe", "probe", "weak"]),
            }
        )
        for scenario in scenarios
        for number, one in enumerate(
            make_probes(
                "".join(dice.choices("pfe", k=dice.randrange(7))), dice.choice(["openai:small", ""])
            )
        )
    ]
    rollouts = [Rollout.model_validate(one.model_dump(exclude={"id"})) for one in rollouts]

    def put(rows: Sequence[Record], step: str, number: int) -> None:
        assert lake.publish(
            rows,
            [],
            Stamp("r1", step, marks[step].fingerprint, 0, number, "0", "2026-01-01T00:00:00+00:00"),
        )

    put(scenarios, "scenarios-build", 1)
    put(rollouts, "scenarios-filter", 1)
    put(
        [one.model_copy(update={"outcome": "error"}) for one in dice.sample(rollouts, 9)],
        "scenarios-filter",
        2,
    )
    aside = [
        Quarantine(table_name="rollouts", row=one.id, promise="p", detail="", content={})
        for one in dice.sample(rollouts, 5)
    ]
    put(aside, "scenarios-filter", 3)
    upstream = StepInputs(lake, "r1", marks, CONFIG, recipe)
    made = {scenario.id: list[Rollout]() for scenario in scenarios}
    for one in upstream.made(Rollout, "scenarios-filter"):
        if one.rollout_group == "probe":
            made[one.scenario].append(one)
    counted = upstream.count_probes(made)
    assert counted == {name: ProbeCounts.of(home.id, probes) for name, probes in made.items()}
    assert len({(one.passed, one.judged, one.policy) for one in counted.values()}) > 8
