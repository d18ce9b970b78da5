"""On a real walk: what breaks a promise is set aside and the step goes on; what does not add up
fails it."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import StepFailed
from envmill.base.settings import Settings
from envmill.lake.arrow import Stamp
from envmill.pipeline.entering import enter_blueprints
from envmill.pipeline.line import STEP, STEPS, PipelineStep
from envmill.pipeline.quarantine import set_aside
from envmill.pipeline.runner import Runner
from envmill.stages.context import Result
from flows.opening import open_walk
from schemas.environment import Blueprint
from schemas.ledger import Attrition, Evidence, ModelCall
from schemas.quality import Quarantine
from schemas.rollout import Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tasks import quality
from tasks.quality import check_run, check_step, hold_to_promises
from tasks.walking import WALK
from tests.quality.specimen import Line, exit_row, make_call, make_line

GENERATE = STEP["environments-generate"]
Walking = Callable[[PipelineStep], Awaitable[None]]

TABLES = {"attrition", "gate_evidence", *GENERATE.makes}


def worsen(step: PipelineStep, subjects: Sequence[int], **changes: Any) -> PipelineStep:
    """The step, with another content in the product of some of its subjects, counted as they
    come."""
    seen: list[str] = []

    async def work(subject: Any, context: Any, models: Any) -> Result:
        result = await step.work(subject, context, models)
        seen.append(subject.id)
        if len(seen) - 1 not in subjects:
            return result
        return Result(
            tuple(
                row.model_copy(update=changes) if row.table == step.makes[0] else row
                for row in result.records
            )
        )

    return replace(step, work=work)


@pytest.fixture
async def walk(settings: Settings) -> AsyncGenerator[Runner]:
    async with open_walk(
        "r1", RunConfig(environments=3, scenarios=1, attempts=1, seed=11), settings
    ) as opened:
        token = WALK.set(opened)
        yield opened
        WALK.reset(token)


@pytest.fixture
def walk_with(walk: Runner, monkeypatch: pytest.MonkeyPatch) -> Walking:
    """Walk the first step in another version of it."""

    async def go(step: PipelineStep) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("envmill.pipeline.runner.STEPS", (step, *STEPS[1:]))
            await walk.walk([step])

    return go


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would be shown on the run's page."""
    shown: list[str] = []

    async def show(markdown: str, **_: Any) -> None:
        shown.append(markdown)

    monkeypatch.setattr(quality, "acreate_markdown_artifact", show)
    return shown


def last_exits(walk: Runner) -> dict[str, Attrition]:
    rows = sorted(
        walk.lake.read(Attrition, "r1", walk.marks[GENERATE.name]), key=lambda row: row.try_number
    )
    return {row.subject: row for row in rows if row.gate == "exit"}


async def test_a_row_that_breaks_a_promise_is_hidden_from_the_next_step_and_the_step_goes_on(
    walk: Runner, walk_with: Walking
) -> None:
    await walk_with(worsen(GENERATE, [1], licence=""))
    found, aside = await hold_to_promises(walk, [GENERATE.name], TABLES)
    assert (found.breaches, aside) == ((), 1)
    (row,) = walk.lake.read(Quarantine, "r1")
    assert (row.table_name, row.promise, row.content["licence"]) == (
        "blueprints",
        "licence_said",
        "",
    )
    assert row.row not in {subject.id for subject in enter_blueprints(walk._upstream)}
    assert sum(exit.outcome == "kept" for exit in last_exits(walk).values()) == 2
    (dropped,) = [exit for exit in last_exits(walk).values() if exit.outcome == "dropped"]
    assert (dropped.reason, dropped.children, dropped.cost, "licence_said" in dropped.detail) == (
        "quality",
        0,
        0.0,
        True,
    )
    assert len(await walk.plan(STEP["environments-build"])) == 1
    assert row.row not in {subject.id for subject in walk._entered["environments-build"]}


async def test_judging_again_sets_nothing_aside_twice_and_the_step_does_nothing_again(
    walk: Runner, walk_with: Walking
) -> None:
    await walk_with(worsen(GENERATE, [0, 2], licence="", tools=[]))
    assert (await hold_to_promises(walk, [GENERATE.name], TABLES))[1] == 4
    before = walk.lake.files("quarantine", "r1"), walk.lake.files("attrition", "r1")
    assert (await hold_to_promises(walk, [GENERATE.name], TABLES))[1] == 0
    await walk.walk([GENERATE])
    assert (walk.lake.files("quarantine", "r1"), walk.lake.files("attrition", "r1")) == before


async def test_what_refers_to_a_row_set_aside_follows_it(walk: Runner) -> None:
    """A seed without a licence: its blueprint has then grown from nothing."""
    await walk.walk([GENERATE])
    (seed, *_) = [row for row in last_exits(walk)]
    await set_aside(walk, GENERATE.name, {seed: [_quarantine("seeds", seed)]}, [])
    _, aside = await hold_to_promises(walk, [GENERATE.name], TABLES)
    assert aside == 1
    assert [
        row.promise for row in walk.lake.read(Quarantine, "r1") if row.table_name == "blueprints"
    ] == ["seed_exists"]
    assert last_exits(walk)[seed].reason == "quality"


async def test_a_child_that_two_subjects_made_alike_is_one_subjects(
    walk: Runner, walk_with: Walking
) -> None:
    line = GENERATE.work

    async def work_alike(subject: Any, context: Any, models: Any) -> Result:
        result = await line(subject, context, models)
        first = (await line(walk._entered[GENERATE.name][0], context, models)).records[1]
        return Result((result.records[0], first))

    await walk_with(replace(GENERATE, work=work_alike))
    _, aside = await hold_to_promises(walk, [GENERATE.name], TABLES)
    exits = last_exits(walk)
    assert aside == 2
    assert (
        len(walk.lake.read(Blueprint, "r1")) == sum(exit.children for exit in exits.values()) == 1
    )
    assert walk.lake.read(Quarantine, "r1") == []
    assert [
        exit.detail.startswith("children_made")
        for exit in exits.values()
        if exit.outcome == "dropped"
    ] == [True, True]


def write_line(walk: Runner, line: Line) -> None:
    """As if the walk had made it."""
    line.write(walk.lake, "r1", {name: mark.fingerprint for name, mark in walk.marks.items()})
    for step in STEP:
        walk.lake.fix("r1", step, {"buckets": 1})


async def test_a_scenario_that_verify_should_not_have_kept_is_dropped_there(walk: Runner) -> None:
    line = make_line()
    line.cut_after("scenarios-verify")
    line.change(Scenario, do_nothing_reward=0.4)
    write_line(walk, line)
    assert (await hold_to_promises(walk, ["scenarios-verify"], {"attrition"}))[1] == 1
    assert walk._upstream.kept("scenarios-verify") == set()
    aside = [
        row.promise for row in walk.lake.read(Quarantine, "r1") if row.table_name == "scenarios"
    ]
    assert aside == ["oracle_pays_and_idling_does_not"]
    assert (await hold_to_promises(walk, list(STEP)[:7], None))[0].breaches == ()


@pytest.mark.parametrize(
    ("licences", "outcome", "children"), [(["", "Apache-2.0"], "kept", 1), (["", ""], "dropped", 0)]
)
async def test_a_subject_is_kept_for_the_children_it_has_left(
    walk: Runner, licences: list[str], outcome: str, children: int
) -> None:
    line = make_line()
    line.cut_after("scenarios-collect")
    first, second = line.all(Rollout)
    line.change(Rollout, outcome="pass", reward=1.0)
    line.change(Evidence, finding={"passed": 2, "attempts": 2})
    (one,) = line.all(Trajectory)
    other = one.model_copy(update={"rollout": second.id, "id": "trj_other"})
    rows = [
        row.model_copy(update={"licence": licence})
        for row, licence in zip((one, other), licences, strict=True)
    ]
    exit = exit_row("scenarios-collect", first.scenario, children=2)
    line.rows["scenarios-collect"] = [*rows, exit]
    write_line(walk, line)
    assert (await hold_to_promises(walk, ["scenarios-collect"], {"attrition", "trajectories"}))[
        1
    ] == licences.count("")
    (latest,) = [
        row
        for row in walk.lake.read(Attrition, "r1")
        if (row.stage, row.gate, row.try_number) == ("collect", "exit", 2)
    ]
    assert (latest.outcome, latest.children) == (outcome, children)
    assert (await hold_to_promises(walk, list(STEP)[:9], None))[0].breaches == ()


async def test_a_subject_kept_on_a_false_dossier_falls_with_all_its_children(walk: Runner) -> None:
    line = make_line()
    line.cut_after("scenarios-filter")
    line.change(Evidence, finding={"passed": 2, "attempts": 2})
    write_line(walk, line)
    await hold_to_promises(walk, ["scenarios-filter"], {"attrition", "gate_evidence", "rollouts"})
    assert walk._upstream.kept("scenarios-filter") == set()
    assert (await hold_to_promises(walk, list(STEP)[:8], None))[0].breaches == ()


async def test_a_bad_line_of_the_ledger_is_set_aside_and_still_counts_its_subject(
    walk: Runner,
) -> None:
    line = make_line()
    line.change(Attrition, lambda row: row.outcome == "dropped", reason="")
    write_line(walk, line)
    assert (await hold_to_promises(walk, list(STEP), None))[1] == 1
    assert (await hold_to_promises(walk, list(STEP), None))[1] == 0


async def test_a_sum_that_does_not_hold_fails_the_step_with_promise_and_sample(
    walk: Runner, pages: list[str]
) -> None:
    await walk.walk([GENERATE])
    commit = Path(walk.lake.files("attrition", "r1")[0])
    commit.rename(
        commit.with_stem(commit.stem.partition("-bp")[0])
    )  # as before commits named their tables
    Path(walk.lake.files("blueprints", "r1")[0]).unlink()
    with pytest.raises(
        StepFailed, match=r"attrition breaks `batch_whole`.*3 told, no row there"
    ) as failed:
        await check_step.fn(GENERATE.name)
    assert failed.value.facts["promises"] == ["batch_whole"]
    assert walk.lake.read(Quarantine, "r1") == []
    assert "`batch_whole` 1" in pages[0]


async def test_a_whole_run_goes_through_every_suite_and_the_report_is_kept(
    walk: Runner, walk_with: Walking, pages: list[str]
) -> None:
    await walk_with(worsen(GENERATE, [1], licence=""))
    priceless = make_call("s").model_copy(update={"cost": None})
    walk.lake.put(ModelCall, [priceless], "seal-x", Stamp("r1", "", "", 0, 1, "", "t"))
    assert await check_run.fn(GENERATE.name) == 2
    assert "Every promise holds" in pages[0]
    assert "| blueprints | 2 | 5 |  | `licence_said` 1 |" in pages[0]
    assert re.search(r"\| model_calls \| 0 \| \d+ \|  \| `cost_known` 1 \|", pages[0])
    (dossier,) = [row for row in walk.lake.read(Evidence, "r1") if row.gate == "quality"]
    assert {one["table"] for one in dossier.finding} >= {"attrition", "model_calls", "run_events"}
    assert await check_run.fn(GENERATE.name) == 0


async def test_two_processes_judging_at_once_agree(
    walk: Runner, walk_with: Walking, settings: Settings
) -> None:
    await walk_with(worsen(GENERATE, [0], licence=""))
    async with open_walk("r1", walk.context.config, settings) as other:
        both = await asyncio.gather(
            *(hold_to_promises(one, [GENERATE.name], TABLES) for one in (walk, other))
        )
    assert sorted(aside for _, aside in both) == [0, 1]
    assert len(walk.lake.files("quarantine", "r1")) == 1


def _quarantine(table: str, row: str) -> Quarantine:
    return Quarantine(
        table_name=table, row=row, promise="licence_said", detail="by hand", content=None
    )
