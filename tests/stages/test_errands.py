"""Errand plans in a run: each block is planned once, whoever asks first; the same plan is found
again; a left line is sent back."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

import offline as author
from envmill.base.errors import EnvMillError, Outage, Pending
from envmill.base.settings import Settings
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.models.prices import Prices
from envmill.pipeline.estimate import Forecast, estimate
from envmill.recipes import RECIPES
from envmill.recipes.drafting.errands import BLOCK, BlockPlan, ErrandBlock
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.errands import ErrandPlans
from envmill.stages.places import ScenarioSlot, choose_polarity
from flows.opening import open_walk
from schemas.base import Json
from schemas.errand_plan import ErrandLine, PlannedErrand
from schemas.ledger import Attrition, ModelCall
from schemas.run import RunConfig
from schemas.scenario import Draft
from tests.pipeline.test_runner import settings_in
from tests.specimens import make_environment

SHED = make_environment()
CONFIG = RunConfig(seed=5, scenarios=20)


@dataclass
class Planning:
    """A recipe that plans, and remembers what it was asked for."""

    fails: int = 0
    error: EnvMillError = field(default_factory=lambda: Outage("nobody answers"))
    blocks: list[ErrandBlock] = field(default_factory=list[ErrandBlock])

    async def plan_errands(self, block: ErrandBlock, _: Any) -> BlockPlan:
        self.blocks.append(block)
        await asyncio.sleep(0.01)
        if self.fails:
            self.fails -= 1
            raise self.error
        lines = {
            place.number: ErrandLine(
                number=place.number,
                who="a neighbour",
                what=f"Wants thing {place.number}.",
                about=[f"{place.number}"],
            )
            for place in block.places
        }
        return BlockPlan(lines)


class Account:
    def afresh(self, number: int) -> "Account":
        return self


async def find(
    plans: ErrandPlans, recipe: Planning, number: int, config: RunConfig = CONFIG, places: int = 20
) -> Any:
    slot = ScenarioSlot(SHED, number, places)
    return await plans.find(slot, config, recipe.plan_errands, cast(ModelSession, Account()))


async def test_places_of_a_block_are_planned_once_and_know_their_neighbours() -> None:
    plans, recipe = ErrandPlans(), Planning()
    found = await asyncio.gather(*(find(plans, recipe, number) for number in reversed(range(20))))
    assert [[place.number for place in block.places] for block in recipe.blocks] == [
        [*range(8)],
        [*range(8, 16)],
        [*range(16, 20)],
    ]
    assert [len(block.taken) for block in recipe.blocks] == [0, 8, 16], (
        "later blocks see the lines of earlier ones"
    )
    for number, one in zip(reversed(range(20)), found, strict=True):
        assert one.brief.line.number == number
        assert len(one.brief.neighbours) == (7 if number < 16 else 3)
        assert not [said for said in one.brief.neighbours if f"thing {number}." in said]
        assert (one.record.number, one.record.polarity) == (
            number,
            choose_polarity(CONFIG.polarities, SHED.id, number),
        )


async def test_a_line_is_drawn_again_alone_and_sees_the_others_as_they_were_planned() -> None:
    plans, recipe = ErrandPlans(), Planning()
    before = await find(plans, recipe, 9)
    slot, blocks = ScenarioSlot(SHED, 9, 20), list[ErrandBlock]()

    async def draw(block: ErrandBlock, _: Any) -> BlockPlan:
        blocks.append(block)
        return BlockPlan(
            {
                9: ErrandLine(
                    number=9, who="a neighbour", what="Wants another thing.", about=["another"]
                )
            }
        )

    found = await plans.redraw(
        slot, CONFIG, recipe.plan_errands, draw, cast(ModelSession, Account())
    )
    (block,) = blocks
    assert [place.number for place in block.places] == [9]
    assert sorted(one.line.number for one in block.taken) == [
        number for number in range(16) if number != 9
    ]
    assert found.brief.line is not None
    assert found.record is not None
    assert (found.brief.line.what, found.record.what) == ("Wants another thing.",) * 2
    assert found.brief.neighbours == before.brief.neighbours
    assert (await find(plans, recipe, 9)) == before, "the plan of the others stays"
    assert len(recipe.blocks) == 2
    off = await plans.redraw(
        slot,
        CONFIG.model_copy(update={"plan": False}),
        recipe.plan_errands,
        draw,
        cast(ModelSession, Account()),
    )
    assert (off.brief.line, len(blocks)) == (None, 1)


async def test_nothing_is_planned_where_the_run_does_not_want_it() -> None:
    recipe = Planning()
    off = await find(ErrandPlans(), recipe, 0, CONFIG.model_copy(update={"plan": False}))
    bare = await find(ErrandPlans(), recipe, 0, places=0)
    assert (off.brief.line, bare.brief.line, off.record, recipe.blocks) == (None, None, None, [])


@pytest.mark.parametrize(
    "error", [Outage("nobody answers"), Pending("a batch is under way")], ids=["outage", "batch"]
)
async def test_what_ends_the_question_ends_all_who_wait_and_the_next_attempt_asks_again(
    error: EnvMillError,
) -> None:
    plans, recipe = ErrandPlans(), Planning(fails=1, error=error)
    ended = await asyncio.gather(
        *(find(plans, recipe, number) for number in range(BLOCK)), return_exceptions=True
    )
    assert {type(one) for one in ended} == {type(error)}
    assert len(recipe.blocks) == 1
    assert (await find(plans, recipe, 0)).brief.line.number == 0
    assert len(recipe.blocks) == 2


async def test_one_who_stops_waiting_does_not_end_the_others() -> None:
    plans, recipe = ErrandPlans(), Planning()
    first, second = (asyncio.create_task(find(plans, recipe, number)) for number in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).brief.line.number == 1
    assert len(recipe.blocks) == 1


def walk_with(answer: Any, folder: Path, run: str = "r1", **config: Any) -> Settings:
    settings = settings_in(folder)
    small: dict[str, Any] = {
        "environments": 1,
        "scenarios": 10,
        "mistakes": 0.0,
        "seed": 5,
        "attempts": 1,
        "search": 5,
    }

    async def walk() -> None:
        async with open_walk(
            run, RunConfig.model_validate(small | config), settings, answer
        ) as opened:
            await opened.walk(
                [
                    step
                    for step in opened.line
                    if step.name <= "scenarios-generate" and step.lap == "environments"
                ]
            )
            await opened.walk([step for step in opened.line if step.name == "scenarios-generate"])

    asyncio.run(walk())
    return settings


def read_lines(settings: Settings, run: str = "r1") -> list[PlannedErrand]:
    return sorted(Lake(settings.lake).read(PlannedErrand, run), key=lambda one: one.number)


def list_plans(settings: Settings, run: str = "r1") -> list[ModelCall]:
    return [
        call
        for call in Lake(settings.lake).read(ModelCall, run)
        if call.prompt == "errands" and not call.reused
    ]


class Dying:
    """The offline author, out of reach after its first plan: a process that ends between the plan
    and the scenarios."""

    def __init__(self) -> None:
        self.asked = Counter[str]()

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        self.asked[prompt] += 1
        if prompt == "scenario":
            raise Outage("out of reach")
        return author.answer(prompt, inputs, seed, sample, mistakes, talk)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return walk_with(author.answer, tmp_path_factory.mktemp("planned"))


@pytest.mark.long
def test_a_run_keeps_a_line_for_each_place_and_drafts_follow_them(planned: Settings) -> None:
    lines, drafts = read_lines(planned), Lake(planned.lake).read(Draft, "r1")
    assert [one.number for one in lines] == [*range(10)]
    assert {one.reason for one in lines} == {""}
    assert len({(one.polarity, tuple(one.about)) for one in lines}) == 10
    tools = {one.number: {*one.tools} for one in lines}
    assert all({call.name for call in draft.oracle} <= tools[draft.number] for draft in drafts)
    assert len(list_plans(planned)) == 2, "one call for each block"
    rows = [
        row
        for row in Lake(planned.lake).read(Attrition, "r1")
        if row.gate == "errand" or row.reason == "errand_left"
    ]
    assert rows == []


@pytest.mark.long
def test_after_an_outage_the_plan_is_not_asked_for_again_and_the_same_is_found(
    planned: Settings, tmp_path: Path
) -> None:
    from envmill.models import caller

    patience, caller.PAUSES = caller.PAUSES, (0.01,)
    dying = Dying()
    try:
        with pytest.raises(Exception, match="out of reach"):
            walk_with(dying, tmp_path)
    finally:
        caller.PAUSES = patience
    assert dying.asked["errands"] == 2
    settings = walk_with(author.answer, tmp_path)
    assert len(list_plans(settings)) == 2
    assert read_lines(settings) == read_lines(planned)


@pytest.mark.long
def test_without_a_plan_the_same_scenarios_come_and_nobody_is_asked(
    planned: Settings, tmp_path: Path
) -> None:
    """The embedded author plans what it would write anyway."""
    settings = walk_with(author.answer, tmp_path, plan=False)
    assert (read_lines(settings), list_plans(settings)) == ([], [])
    assert [one.id for one in Lake(settings.lake).read(Draft, "r1")] == [
        one.id for one in Lake(planned.lake).read(Draft, "r1")
    ]


@pytest.mark.long
def test_a_recording_plays_the_plan_back(planned: Settings) -> None:
    """Strictly: every question is the same, though other places may ask for the plan first."""
    folder = planned.home.parent
    settings = walk_with(author.answer, folder, "r2", provider="replay", recording="r1")
    assert read_lines(settings, "r2") == read_lines(planned)


@pytest.mark.long
def test_an_estimate_foresees_a_plan_for_each_block(planned: Settings) -> None:
    """As many as a finished run took, and with nothing known but its environments, one for each
    eight scenarios."""
    note(Lake(planned.lake), "r1", "finished", [])
    config = RunConfig(environments=3, scenarios=10, seed=5, mistakes=0.0)

    def foresee(config: RunConfig) -> dict[str, Forecast]:
        found = asyncio.run(
            estimate(Lake(planned.lake), config, RECIPES[config.recipe](read_themes()), Prices())
        )
        return {one.prompt: one for one in found if one.step == "scenarios-generate"}

    assert foresee(config)["errands"].calls == 6
    assert foresee(config)["errands"].basis.startswith("1 finished run")
    assert "errands" not in foresee(config.model_copy(update={"plan": False}))
    awm = RunConfig(recipe="awm", environments=3, scenarios=10, seed=5)
    assert "errands" not in foresee(awm), "its requirements are the lines"
