"""The whole line, bare: what it leaves in the lake, and what interruptions must not change."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.base.errors import Outage, SettingsError, StepFailed
from envmill.base.settings import Settings
from envmill.gates.base import Finding, keep
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.models.prices import Prices
from envmill.pipeline import finished as finishing
from envmill.pipeline.choice import pick_round
from envmill.pipeline.estimate import estimate
from envmill.pipeline.finished import is_finished
from envmill.pipeline.line import STEP, STEPS, PipelineStep
from envmill.pipeline.runner import mark_steps
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.context import Result
from flows.opening import open_walk
from schemas.base import Json
from schemas.environment import Blueprint
from schemas.run import RunConfig

CONFIG = RunConfig(environments=3, scenarios=2, attempts=2, search=40, seed=11, mistakes=0.4)

CONTENT = (
    "seeds",
    "blueprints",
    "environments",
    "builds",
    "tests",
    "drafts",
    "scenarios",
    "rollouts",
    "trajectories",
    "pairs",
    "bundles",
)


class Counting:
    """The offline author with a ledger of its own, and down for some prompts when told."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str, int]] = Counter()
        self.down: frozenset[int] = frozenset()

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        if prompt == "scenario" and inputs["number"] in self.down:
            raise Outage("down for this one")
        self.asked[prompt, repr((inputs, talk)), sample] += 1
        return author.answer(prompt, inputs, seed, sample, mistakes, talk)


async def walk_line(
    settings: Settings,
    run: str = "r1",
    steps: Sequence[PipelineStep] = STEPS,
    answer: Counting | None = None,
    config: RunConfig = CONFIG,
) -> None:
    async with open_walk(run, config, settings, answer or Counting()) as walk:
        await walk.walk(steps)


def contents(settings: Settings, run: str = "r1") -> dict[str, Any]:
    """What makes two runs equal: ids, content columns, final outcomes."""
    views = open_views(Lake(settings.lake))
    found: dict[str, Any] = {}
    for table in CONTENT:
        stamps = "run, step, fingerprint, bucket, try_number, code_version, written_at"
        found[table] = views.execute(
            f"select * exclude ({stamps}) from {table} where run = '{run}' order by id"
        ).fetchall()
    outcomes = (
        "select lap, stage, gate, subject, outcome, reason, children from attrition where run = "
        "? and gate {} order by all"
    )
    found["exits"] = views.execute(
        outcomes.format("= 'exit'").replace("attrition", "exits"), [run]
    ).fetchall()
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Counting]:
    """One undisturbed run."""
    folder = tmp_path_factory.mktemp("finished")
    settings = settings_in(folder)
    counting = Counting()
    asyncio.run(walk_line(settings, answer=counting))
    return settings, counting


def settings_in(folder: Path) -> Settings:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )


def ask(settings: Settings, question: str) -> list[Any]:
    return open_views(Lake(settings.lake), question=question).execute(question).fetchall()


@pytest.mark.long
def test_nobody_is_lost_between_two_steps(finished: tuple[Settings, Counting]) -> None:
    rows = ask(
        finished[0], "select lap || '-' || stage, entered, kept, dropped, error, made from funnel"
    )
    found = {
        name: dict(zip(("entered", "kept", "dropped", "error", "made"), counts, strict=True))
        for name, *counts in rows
    }
    assert set(found) == {step.name for step in STEPS}
    assert found["environments-generate"]["entered"] == CONFIG.environments
    assert (
        found["scenarios-generate"]["entered"]
        == found["environments-filter"]["kept"] * CONFIG.scenarios
    )
    for before, after in pairwise(STEPS):
        if after.stage != "export" and after.lap == before.lap:
            left = "made" if before.stage in ("generate", "build") else "kept"
            assert found[after.name]["entered"] == found[before.name][left], after.name


class Repeating(Counting):
    """Writes the same scenario for every place of an environment."""

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        if prompt == "scenario":
            inputs = inputs | {"number": 0}
        return author.answer(prompt, inputs, seed, sample, 0.0, talk)


@pytest.mark.long
async def test_the_same_thing_made_twice_is_dropped_with_a_reason(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    filtered = STEPS[: STEPS.index(STEP["scenarios-filter"]) + 1]
    # A plan gives each place an errand of its own, and holds its author to it.
    config = CONFIG.model_copy(update={"polarities": {"achieve": 1}, "attempts": 8, "plan": False})
    await walk_line(settings, steps=filtered, answer=Repeating(), config=config)
    ((homes,),) = ask(
        settings, "select kept from funnel where lap = 'environments' and stage = 'filter'"
    )
    assert homes > 0
    assert ask(
        settings,
        "select distinct reason from exits where lap = 'scenarios' and outcome = 'dropped'",
    ) == [("repeat",)]
    assert ask(
        settings, "select entered, kept from funnel where lap = 'scenarios' and stage = 'filter'"
    ) == [(2 * homes, homes)]


class Fussy(Counting):
    """Cannot place the theme that the run chose last."""

    unplaced = pick_round(RECIPES[CONFIG.recipe](read_themes()), CONFIG)[-1].brief.theme

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        if prompt == "blueprint" and inputs["brief"]["theme"] == self.unplaced:
            raise SettingsError("no such thing here")
        return super().__call__(prompt, inputs, seed, sample, mistakes, talk)


async def test_one_item_that_nobody_can_place_does_not_take_the_others_along(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path)
    with pytest.raises(StepFailed, match="no such thing here"):
        await walk_line(settings, answer=Fussy())
    outcomes = ask(
        settings,
        "select outcome, count(*) from exits where stage = 'generate' group by all order by all",
    )
    assert outcomes == [("error", 1), ("kept", 2)]


async def test_a_run_that_cannot_start_leaves_its_id_free(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with pytest.raises(SettingsError, match="no run 'nope'"):
        async with open_walk(
            "r1", CONFIG.model_copy(update={"provider": "replay", "recording": "nope"}), settings
        ):
            pass
    assert Lake(settings.lake).runs() == []
    async with open_walk("r1", CONFIG, settings) as walk:
        assert walk.context.config == CONFIG


async def test_a_gap_in_a_recording_is_an_error_and_no_drop(
    finished: tuple[Settings, Counting],
) -> None:
    config = CONFIG.model_copy(update={"provider": "replay", "recording": "r1", "seed": 12})
    async with open_walk("gap", config, finished[0]) as walk:
        with pytest.raises(StepFailed, match="recording holds no reply"):
            await walk.walk()
    assert ask(finished[0], "select distinct outcome from exits where run = 'gap'") == [("error",)]


def test_what_is_kept_keeps_its_promises(finished: tuple[Settings, Counting]) -> None:
    broken = """select id from scenarios where id in (select subject from exits where stage = 'verify' and outcome = 'kept')
                and (oracle_reward <> 1 or do_nothing_reward <> 0)"""
    assert ask(finished[0], broken) == []
    assert ask(finished[0], "select count(*) > 0, min(reward) from trajectories") == [(True, 1.0)]
    assert ask(
        finished[0], "select count(*) from exits where outcome <> 'kept' and reason = ''"
    ) == [(0,)]


def test_mistakes_are_found_and_named(finished: tuple[Settings, Counting]) -> None:
    repaired = ask(finished[0], "select count(*) from builds where outcome = 'failed'")
    dropped = ask(finished[0], "select count(*) from exits where outcome = 'dropped'")
    assert repaired[0][0] + dropped[0][0] > 0


def test_the_ledger_holds_every_call_once(finished: tuple[Settings, Counting]) -> None:
    settings, counting = finished
    assert set(counting.asked.values()) == {1}
    assert ask(
        settings,
        "select count(*), count(distinct (request, sample)) from model_calls where not reused",
    ) == [(counting.asked.total(), counting.asked.total())]
    assert not list((settings.home / "journal").rglob("*.jsonl"))


async def test_a_finished_run_asks_for_nothing_and_changes_nothing(
    finished: tuple[Settings, Counting],
) -> None:
    before, again = contents(finished[0]), Counting()
    await walk_line(finished[0], answer=again)
    assert again.asked.total() == 0
    assert contents(finished[0]) == before


def test_a_run_is_finished_when_it_says_so_and_lacks_nothing(
    finished: tuple[Settings, Counting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished[0].lake, tmp_path / "lake")
    lake, steps = Lake(str(tmp_path / "lake")), [step.name for step in STEPS]
    assert not is_finished(lake, "r1"), "it has not said so"
    note(lake, "r1", "finished", steps[:3])
    assert not is_finished(lake, "r1"), "that was a step of its own"
    note(lake, "r1", "finished", steps)
    assert is_finished(lake, "r1")
    note(lake, "r1", "failed", "a promise is broken")
    assert not is_finished(lake, "r1")
    note(lake, "r1", "finished", steps)
    monkeypatch.setattr(
        finishing,
        "mark_steps",
        lambda *given: mark_steps(given[0].model_copy(update={"attempts": 3}), *given[1:]),
    )
    assert not is_finished(lake, "r1"), "the program is another one by now"


@pytest.mark.long
async def test_an_outage_fails_the_step_after_saving_the_rest_and_only_the_rest_runs_again(
    finished: tuple[Settings, Counting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.models.caller.PAUSES", (0.0, 0.0))
    settings, counting = settings_in(tmp_path), Counting()
    counting.down = frozenset({1})
    with pytest.raises(StepFailed, match="scenarios-generate") as failed:
        await walk_line(settings, answer=counting)
    errors = ask(settings, "select subject from exits where outcome = 'error'")
    assert errors
    assert {item for (item,) in errors} >= set(failed.value.facts["items"])
    assert ask(settings, "select count(*) from attrition where stage in ('collect', 'export')") == [
        (0,)
    ]
    counting.down = frozenset()
    await walk_line(settings, answer=counting)
    assert set(counting.asked.values()) == {1}
    assert contents(settings) == contents(finished[0])


async def test_what_ends_in_error_leaves_no_rows_beside_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is worked on again, and may make others then: rows of both attempts would stand side by
    side."""
    settings, tries = settings_in(tmp_path), list[int]()

    async def work(subject: Any, context: Any, models: Any) -> Result:
        made = await STEPS[0].work(subject, context, models)
        tries.append(len(tries))
        renamed = [
            Blueprint.model_validate(row.model_dump(exclude={"id"}) | {"name": f"{len(tries)}"})
            if isinstance(row, Blueprint)
            else row
            for row in made.records
        ]
        amiss = (
            Finding("W0", "error", "jail_broke", "by hand", {"try": len(tries)})
            if len(tries) <= CONFIG.environments
            else keep("W0")
        )
        return Result(tuple(renamed), (amiss,))

    step = replace(STEPS[0], work=work)
    monkeypatch.setattr("envmill.pipeline.runner.STEPS", (step,))
    with pytest.raises(StepFailed, match="jail_broke"):
        await walk_line(settings, steps=[step])
    assert ask(settings, "select count(*) from blueprints") == [(0,)]
    await walk_line(settings, steps=[step])
    assert ask(settings, "select count(*), min(try_number), sum(children) from exits") == [
        (3, 2, 3)
    ]
    assert ask(settings, "select count(*) from blueprints") == [(3,)]
    assert ask(
        settings,
        "select outcome, count(*) from attrition where gate = 'W0' group by all order by all",
    ) == [
        ("error", 3),
        ("kept", 3),
    ]
    assert ask(settings, "select count(*) from gate_evidence") == [(3,)]


async def test_a_step_does_not_start_before_the_one_before_it_ended(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await walk_line(settings, steps=STEPS[:1])
    with pytest.raises(StepFailed, match="environments-build still lacks"):
        await walk_line(settings, steps=STEPS[3:4])


@pytest.mark.long
async def test_the_same_seed_gives_the_same_run_in_other_processes_that_share_the_work_and_ask_nothing_twice(
    finished: tuple[Settings, Counting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three walks at once, then one for each lap, and one where every subject meets its gates in a
    keeper."""
    settings, counting, half = (
        settings_in(tmp_path),
        Counting(),
        STEPS.index(STEP["scenarios-generate"]),
    )
    await asyncio.gather(*(walk_line(settings, steps=STEPS[:1], answer=counting) for _ in range(3)))
    await walk_line(settings, steps=STEPS[:half], answer=counting)
    monkeypatch.setattr("envmill.stages.gate_workers.HERE", 0)
    monkeypatch.setattr("envmill.stages.gate_workers.pick_cores", lambda: [0])
    await walk_line(settings, answer=counting)
    assert set(counting.asked.values()) == {1}
    assert contents(settings) == contents(finished[0])


@pytest.mark.long
async def test_a_recording_plays_the_run_back(finished: tuple[Settings, Counting]) -> None:
    settings = finished[0]
    config = CONFIG.model_copy(update={"provider": "replay", "recording": "r1"})
    async with open_walk("replayed", config, settings) as walk:
        await walk.walk()
    played, original = contents(settings, "replayed"), contents(settings)
    assert [row[0] for row in played["environments"]] == [
        row[0] for row in original["environments"]
    ]
    assert [row[0] for row in played["trajectories"]] == [
        row[0] for row in original["trajectories"]
    ]


@pytest.mark.long
async def test_a_review_is_asked_for_and_played_back_in_all_its_roles(tmp_path: Path) -> None:
    settings, config = (
        settings_in(tmp_path),
        CONFIG.model_copy(update={"environments": 1, "mistakes": 0.0, "review": True}),
    )
    await walk_line(settings, steps=STEPS[:3], config=config)
    await walk_line(
        settings,
        "again",
        STEPS[:3],
        config=config.model_copy(update={"provider": "replay", "recording": "r1"}),
    )
    roles = ask(
        settings,
        "select role, run, count(*) > 0 from model_calls where step = 'environments-verify' "
        "group by all order by all",
    )
    assert roles == [(role, run, True) for role in ("critic", "judge") for run in ("again", "r1")]
    asked_twice = (
        "select count(*) from model_calls where step = 'environments-verify' and run = 'r1' and "
        "not reused"
    )
    assert ask(settings, asked_twice) == [(0,)], "the build asked the same, and was answered"
    findings = ask(
        settings,
        "select distinct subject, outcome from attrition where gate = 'W4' and run in ('r1', "
        "'again') order by all",
    )
    assert findings
    assert {outcome for _, outcome in findings} == {"kept"}
    lake = Lake(settings.lake)
    note(lake, "r1", "finished", [])
    for review in (True, False):
        wanted = config.model_copy(update={"review": review})
        foreseen = await estimate(lake, wanted, RECIPES[config.recipe](read_themes()), Prices())
        assert ({one.prompt for one in foreseen} >= {"tester", "checker"}) is review


@pytest.mark.long
async def test_a_judge_is_calibrated_and_rules_on_what_passes(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    config = CONFIG.model_copy(
        update={"environments": 1, "scenarios": 1, "mistakes": 0.0, "judged": True}
    )
    await walk_line(settings, steps=STEPS[:9], config=config)
    found = (
        "finding ->> 'model', (finding ->> 'weight')::double, (finding ->> 'wrong')::int >= 4, "
        "finding ->> 'false_accepts'"
    )
    assert ask(settings, f"select {found} from gate_evidence where gate = 'judge'") == [
        ("author/0", 0.3, True, "0")
    ]
    told = "outcome, reward, ruling ->> 'outcome', components ->> 'judge'"
    ruled = ask(settings, f"select distinct {told} from rollouts where outcome = 'pass'")
    assert ruled == [("pass", 1.0, "complete", "1.0")]
    assert ask(
        settings, "select count(*) from rollouts where outcome <> 'pass' and ruling is not null"
    ) == [(0,)]
    asked = ask(
        settings,
        "select distinct role, step, reused from model_calls where prompt = 'ruling' order by all",
    )
    assert {("judge", "scenarios-filter", False), ("judge", "scenarios-collect", True)} <= set(
        asked
    )
    note(Lake(settings.lake), "r1", "finished", [])
    for judged in (True, False):
        foreseen = await estimate(
            Lake(settings.lake),
            config.model_copy(update={"judged": judged}),
            RECIPES[config.recipe](read_themes()),
            Prices(),
        )
        assert ("ruling" in {one.prompt for one in foreseen}) is judged


def test_nobody_is_asked_for_an_opinion_where_none_is_wanted(
    finished: tuple[Settings, Counting],
) -> None:
    assert {prompt for prompt, _, _ in finished[1].asked} == {
        "blueprint",
        "program",
        "tests",
        "errands",
        "scenario",
    }
    assert ask(finished[0], "select distinct outcome, reason from attrition where gate = 'W4'") == [
        ("not_measured", "no_reviewer")
    ]


async def test_a_run_keeps_the_config_it_started_with(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await walk_line(settings, steps=STEPS[:1])
    async with open_walk("r1", CONFIG.model_copy(update={"environments": 99}), settings) as walk:
        assert walk.context.config == CONFIG


async def test_a_bug_in_one_item_is_a_row_and_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)

    async def stumble(*_: object) -> None:
        raise ZeroDivisionError("oops")

    step = replace(STEPS[0], work=stumble)
    monkeypatch.setattr("envmill.pipeline.runner.STEPS", (step,))
    with pytest.raises(
        StepFailed, match=r"ZeroDivisionError: oops \(.*/test_runner.py, line \d+\)"
    ):
        await walk_line(settings, steps=[step])
    assert ask(settings, "select distinct outcome, reason from exits") == [("error", "bug")]


@pytest.mark.long
async def test_a_run_recorded_to_a_file_plays_back_in_another_lake(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "run.jsonl"
    recording = settings_in(tmp_path / "recording")
    async with open_walk("r1", CONFIG.model_copy(update={"record": str(path)}), recording) as walk:
        await walk.walk(STEPS[:2])
    settings = settings_in(tmp_path / "played")
    config = CONFIG.model_copy(update={"provider": "replay", "recording": str(path)})
    async with open_walk("played", config, settings) as walk:
        await walk.walk(STEPS[:2])
    played, original = contents(settings, "played"), contents(recording)
    assert played["environments"]
    assert [row[0] for row in played["environments"]] == [
        row[0] for row in original["environments"]
    ]


async def test_a_recording_that_is_not_there_leaves_the_run_its_id(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with pytest.raises(SettingsError, match="cannot be read as a recording"):
        async with open_walk(
            "r1",
            CONFIG.model_copy(update={"provider": "replay", "recording": "/nowhere/run.jsonl"}),
            settings,
        ):
            pass
    assert Lake(settings.lake).runs() == []
