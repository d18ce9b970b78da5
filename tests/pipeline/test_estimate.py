"""An estimate counts the texts of a corpus, and the attempts of models: as models took them, or
else as scripts did."""

import asyncio

import pytest

from envmill.agents import ROLLOUT_PROMPTS
from envmill.base.settings import Settings
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.models.prices import Prices
from envmill.pipeline.estimate import Forecast, estimate
from envmill.pipeline.line import STEP, STEPS
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from schemas.run import RunConfig
from tests.pipeline.test_runner import ask, settings_in, walk_line

CONFIG = RunConfig(
    environments=1,
    scenarios=2,
    attempts=4,
    search=10,
    seed=5,
    mistakes=0.0,
    probe="careless",
    teacher="skilled@0.9",
)
ACTED = CONFIG.model_copy(update={"policy": "openai:m@box"})


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A finished run whose rollouts were made by scripts."""
    settings = settings_in(tmp_path_factory.mktemp("past"))
    asyncio.run(
        walk_line(
            settings, steps=STEPS[: STEPS.index(STEP["scenarios-collect"]) + 1], config=CONFIG
        )
    )
    note(Lake(settings.lake), "r1", "finished", [])
    return settings


def foresee(settings: Settings, config: RunConfig) -> dict[tuple[str, str], Forecast]:
    found = asyncio.run(
        estimate(Lake(settings.lake), config, RECIPES[config.recipe](read_themes()), Prices())
    )
    return {(one.step, one.prompt): one for one in found}


@pytest.mark.long
def test_attempts_of_a_model_are_counted_as_scripts_took_them_until_one_did(past: Settings) -> None:
    names = {
        (step, prompt.name)
        for step in ("scenarios-filter", "scenarios-collect")
        for prompt in ROLLOUT_PROMPTS
    }
    assert not names & set(foresee(past, ACTED)), "scripts ask nobody"
    told = foresee(
        past, ACTED.model_copy(update={"probe": "model", "person": "model", "environments": 2})
    )
    taken = "sum(steps + greatest(turns, 1))::bigint, sum(turns) filter (form <> 'single')::bigint"
    ((acted, said),) = ask(past, f"select {taken} from rollouts where rollout_group = 'probe'")
    ((left,),) = ask(
        past,
        "select sum(turns)::bigint from rollouts where rollout_group = 'teacher' and form <> "
        "'single'",
    )
    assert {name: told[name].calls for name in names if name in told} == {
        ("scenarios-filter", "policy"): 2 * acted,
        ("scenarios-filter", "user"): 2 * said,
        ("scenarios-collect", "user"): 2 * left,
    }
    assert told["scenarios-filter", "policy"].basis.startswith(
        "the probe's attempts in 1 finished run"
    )
    assert told["scenarios-filter", "policy"].tokens_in > told["scenarios-filter", "policy"].calls
    assert told["scenarios-filter", "policy"].cost is None, "nobody knows how much a model says"


@pytest.mark.long
def test_texts_of_a_corpus_are_counted_and_the_factorys_own_themes_are_not(past: Settings) -> None:
    mined = foresee(past, CONFIG.model_copy(update={"corpus": "own", "texts": 5}))
    assert mined["environments-mine", "theme"].calls == 5
    assert mined["environments-mine", "theme"].basis.startswith("rendered")
    assert mined["environments-generate", "blueprint"].basis.startswith("1 finished run")
    assert ("environments-mine", "theme") not in foresee(past, CONFIG)


@pytest.mark.long
def test_a_model_that_judges_reads_each_scenario_once_and_each_difference_twice(
    past: Settings,
) -> None:
    names = {
        ("scenarios-verify", "reader"),
        ("scenarios-verify", "mapper"),
        ("scenarios-verify", "suspicion"),
    }
    assert not names & set(foresee(past, CONFIG)), "the embedded judge is not asked"
    judged = CONFIG.model_copy(update={"judge": "openai:m@box", "environments": 5, "scenarios": 4})
    told = foresee(past, judged)
    doubted = "stage = 'verify' and lap = 'scenarios' and outcome in ('suspected', 'cleared')"
    ((met,),) = ask(past, f"select count(*) from attrition where {doubted}")
    assert (
        told["scenarios-verify", "reader"].calls == told["scenarios-verify", "mapper"].calls == 20
    )
    assert ("scenarios-verify", "mapper") not in foresee(
        past, judged.model_copy(update={"fairness": False})
    )
    assert told["scenarios-verify", "suspicion"].calls == 2 * 20 * met // 2 + 4
    assert not names & set(foresee(past, judged.model_copy(update={"suspicions": "keep"})))
