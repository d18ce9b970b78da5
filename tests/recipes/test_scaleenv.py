"""Recipe `scaleenv` end to end: tools and what they promise, tables that follow from that, and every gate."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from envmill import author
from envmill.drafting.database import ROWS_FAULT, TOOLS_FAULT, find_database_faults
from envmill.lake.lake import Lake
from envmill.models.door import Account
from envmill.opening import open_walk
from envmill.recipes.scaleenv import ScaleEnv
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from schemas.environment import Blueprint, Environment
from schemas.run import RunConfig
from schemas.scenario import Scenario
from schemas.seed import Brief, Seed
from tests.recipes.test_awm import Scripted
from tests.soak import count
from tests.test_walk import ask, settings_in

SEED = 7
THEME = "pharmacy_stock"


async def think_up(account: Scripted, failure: str = "", before: Blueprint | None = None) -> Blueprint:
    brief = Brief(theme=THEME, text=dict(author.themes())[THEME], number=0)
    recipe = ScaleEnv(author.themes())
    return await recipe.think_up(Seed(recipe="scaleenv", brief=brief, licence="MIT"), failure, (), cast(Account, account), before)


async def test_tables_follow_from_tools_and_open_and_fill(jail: Sandbox) -> None:
    account = Scripted()
    plan = await think_up(account)
    assert account.asked == ["toolset", "rows"], "nobody is asked for a schema"
    assert await find_database_faults(plan, jail) == []
    assert plan.rows.keys() == plan.collections.keys()
    assert plan.promises.keys() == plan.touches.keys() == {tool.name for tool in plan.tools}
    assert any(one.requires and one.ensures for one in plan.promises.values())


@pytest.mark.parametrize(
    ("prompt", "kind", "part", "again"),
    [
        ("toolset", "disagreeing_sorts", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "reference_to_no_table", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "row_half_made", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "misspelt_table", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "tool_without_promise", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "wrong_effect", TOOLS_FAULT, ["toolset", "rows"]),
        ("rows", "dangling_reference", ROWS_FAULT, ["rows"]),
        ("rows", "missing_value", ROWS_FAULT, ["rows"]),
    ],
)
async def test_a_mistake_is_blamed_on_tools_or_rows_and_only_these_are_asked_again(
    jail: Sandbox, prompt: str, kind: str, part: str, again: Sequence[str]
) -> None:
    plan = await think_up(Scripted(prompt, kind))
    faults = await find_database_faults(plan, jail)
    assert {fault[: len(part)] for fault in faults} == {part}, faults
    account = Scripted()
    mended = await think_up(account, "\n".join(faults), plan)
    assert account.asked == again
    assert await find_database_faults(mended, jail) == []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return asyncio.run(walk(settings_in(tmp_path_factory.mktemp("scaleenv"))))


async def walk(settings: Settings) -> Settings:
    config = RunConfig(
        recipe="scaleenv",
        environments=count(2, 41),
        scenarios=count(1, 6),
        attempts=2,
        search=count(20, 400),
        seed=SEED,
        mistakes=count(0, 1) * 0.2,
        exporters=("bundle",),
    )
    async with open_walk("r1", config, settings) as opened:
        await opened.walk()
    return settings


@pytest.mark.soak(area="recipes")
def test_environments_and_scenarios_come_of_it(finished: Settings) -> None:
    kept = {f"{lap}-{stage}": number for lap, stage, number in ask(finished, _KEPT)}
    assert kept["environments-filter"] >= count(1, 30), kept
    assert kept["scenarios-verify"] >= count(1, 150), kept
    assert ask(finished, "select id from exits where outcome = 'dropped' and reason = ''") == []
    assert ask(finished, "select lap, stage from funnel where entered <> kept + dropped + error or error > 0") == []
    environments: list[Any] = list(Lake(finished.lake).read(Environment, "r1"))
    assert {one.kind for one in environments} == {"sql"}
    assert all(one.verifier.goals for one in Lake(finished.lake).read(Scenario, "r1") if one.polarity == "achieve")


_KEPT = "select lap, stage, count(*) from exits where outcome = 'kept' group by all"
