"""Recipe `awm` end to end: themes grown, a database before the code, every gate, an exported folder
that scores with nothing installed."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import offline as author
from envmill.base.settings import Settings
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.sql.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT, find_database_faults
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.recipes import awm
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from schemas.environment import Blueprint, Environment, Test
from schemas.scenario import Scenario
from schemas.seed import Brief, Seed
from tests.interop.bundles.five import check_five
from tests.interop.bundles.openers import ask_bare
from tests.pipeline.test_runner import ask, settings_in
from tests.recipes.catalogue import PLANTED, Ending, follow
from tests.recipes.walks import check_walk, walk_recipe
from tests.soak import count

SEED = 7
THEME = "pharmacy_stock"


class Scripted:
    """An account that asks the offline author, remembers what was asked, and plants one mistake."""

    provider, model = "offline", "offline"
    last_asked = None

    def __init__(self, prompt: str = "", kind: str = "", *, mended: bool = True) -> None:
        self._prompt, self._kind, self._mended = prompt, kind, mended
        self.asked: list[str] = []

    def afresh(self, _: int, warning: str = "") -> "Scripted":
        return self

    def list_parts(self, _: Any) -> list[str]:
        return []

    async def ask(
        self, prompt: Any, inputs: Any, reply: Any, *, complaint: str = "", **_: Any
    ) -> Any:
        self.asked.append(prompt.name)
        given = inputs.model_dump(mode="json")
        wanted = prompt.name == self._prompt and not (self._mended and complaint)
        fault = author.plant(prompt.name, self._kind, given, SEED, 0) if wanted else None
        return reply.model_validate_json(
            fault.text if fault else author.answer(prompt.name, given, SEED, 0, 0.0)
        )


def complain(*faults: str) -> Repair:
    return Repair(tuple(Complaint("blueprint", "bad", fault) for fault in faults))


async def think_up(
    models: Scripted, faults: Sequence[str] = (), before: Blueprint | None = None
) -> Blueprint:
    brief = Brief(theme=THEME, text=dict(read_themes())[THEME], number=0)
    recipe = awm.make(read_themes())
    return await recipe.think_up(
        Seed(recipe="awm", brief=brief, licence="MIT"),
        complain(*faults),
        cast(ModelSession, models),
        before,
    )


async def test_a_clean_plan_opens_and_fills(jail: Sandbox) -> None:
    models = Scripted()
    plan = await think_up(models)
    assert models.asked == ["requirements", "schema", "rows", "interface"]
    assert await find_database_faults(plan, jail) == []
    assert plan.rows.keys() == plan.collections.keys()
    assert len(plan.requirements) >= 10


@pytest.mark.parametrize(
    ("prompt", "kind", "part", "again"),
    [
        ("schema", "reference_to_no_table", SCHEMA_FAULT, ["schema", "rows", "interface"]),
        ("schema", "table_without_key", SCHEMA_FAULT, ["schema", "rows", "interface"]),
        ("schema", "missing_comma", SCHEMA_FAULT, ["schema", "rows", "interface"]),
        ("schema", "number_as_text", SCHEMA_FAULT, ["schema", "rows", "interface"]),
        ("rows", "dangling_reference", ROWS_FAULT, ["rows"]),
        ("rows", "missing_value", ROWS_FAULT, ["rows"]),
        ("rows", "key_used_twice", ROWS_FAULT, ["rows"]),
        ("rows", "number_in_quotes", ROWS_FAULT, ["rows"]),
        ("interface", "unknown_table", TOOLS_FAULT, ["interface"]),
        ("interface", "wrong_effect", TOOLS_FAULT, ["interface"]),
    ],
)
async def test_a_mistake_is_named_after_its_part_and_only_what_rests_on_it_is_asked_again(
    jail: Sandbox, prompt: str, kind: str, part: str, again: Sequence[str]
) -> None:
    plan = await think_up(Scripted(prompt, kind))
    faults = await find_database_faults(plan, jail)
    assert [fault[: len(part)] for fault in faults] == [part]
    models = Scripted()
    mended = await think_up(models, faults[:1], plan)
    assert models.asked == again
    assert await find_database_faults(mended, jail) == []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Settings]:
    return asyncio.run(walk_recipe("awm", tmp_path_factory.mktemp("awm")))


@pytest.mark.long
def test_environments_and_scenarios_come_of_it(finished: list[Settings]) -> None:
    check_walk(finished)


@pytest.mark.long
def test_what_was_made_names_the_prompt_it_was_got_with(finished: list[Settings]) -> None:
    lake, asked = (
        Lake(finished[0].lake),
        {one.name: one.hash for prompts in awm.make([]).prompts.values() for one in prompts},
    )
    for record, prompt in ((Environment, "code"), (Test, "trials"), (Scenario, "scenario")):
        assert {(one.origin.prompt, one.origin.prompt_hash) for one in lake.read(record, "r1")} == {
            (prompt, asked[prompt])
        }


@pytest.mark.long
def test_names_that_go_no_further_say_why(finished: list[Settings]) -> None:
    rows = ask(finished[0], "select outcome, reason, detail from attrition where gate = 'choice'")
    assert rows
    assert {reason for _, reason, _ in rows} <= {
        "same_theme",
        "over_quota",
        "not_useful",
        "not_modelable",
        "no_theme",
    }
    assert all(outcome == "dropped" and detail for outcome, _, detail in rows)


@pytest.mark.long
def test_an_exported_folder_scores_where_nothing_is_installed(finished: list[Settings]) -> None:
    homes = sorted(path.parent for path in Path(finished[0].bundles).rglob("bundle.json"))
    assert homes
    environment = json.loads((homes[0] / "bundle.json").read_text())
    assert environment["kind"] == "sql"
    scored = ask_bare(homes[0], ["check"])
    assert {(one["sound"], one["oracle"], one["do_nothing"]) for one in scored} == {
        (True, 1.0, 0.0)
    }


@pytest.mark.long
def test_scenarios_are_judged_by_the_columns_policies(finished: list[Settings]) -> None:
    scenarios = [
        one for one in Lake(finished[0].lake).read(Scenario, "r1") if one.polarity == "achieve"
    ]
    assert scenarios
    assert all(one.verifier.goals for one in scenarios)


@pytest.mark.long
@pytest.mark.soak(area="recipes")
async def test_mistakes_that_are_never_mended_do_not_get_through(tmp_path: Path) -> None:
    planted = PLANTED if count(0, 1) else [("code", "missing_where")]
    endings: list[Ending] = []
    for turn in range(0, count(1, len(PLANTED)), 40):
        endings += await follow(
            settings_in(tmp_path / str(turn)), count(1, 40), turn, SEED, planted
        )
    shown = [one for one in endings if one.shows]
    missed = [one for one in shown if not one.ended]
    assert len(shown) >= count(1, 60)
    assert len(missed) <= 0.05 * len(shown), missed


@pytest.mark.long
@pytest.mark.soak(area="mcp")
async def test_five_policies_earn_the_same_wherever_a_folder_is_played(
    finished: list[Settings], tmp_path: Path
) -> None:
    assert await check_five(finished[0], "r1", count(1, 20), tmp_path) == count(1, 20)
