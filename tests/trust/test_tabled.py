"""Recipes over tables at their own table: honest work stays, planted faults do not, and gates see
what only SQL gets wrong."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.gates import w3, w5, w8, w12
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from offline.truth import find_truth
from schemas.environment import Test
from schemas.run import RecipeName
from tests.offline.questions import SAMPLE, SEED
from tests.soak import count
from tests.trust.jobs import CLEAN, MUTANT, REVIEWED, Job, Outcome, do
from tests.trust.posing import ANYTHING, Spot
from tests.trust.recipe_page import write_recipe_page
from tests.trust.table import Plan, read_outcomes, run, work
from tests.trust.tabled import LINES, Planted, list_kinds, make, make_faulty, pose_at
from tests.trust.test_table import check_outsiders, check_truth

SURE = ("missing_where", "renamed_tool", "leaked_tool")
QUICK: tuple[RecipeName, ...] = ("awm", "scaleenv")
"""But in a soak: to part the documents of the third takes longer than all else."""


@pytest.mark.long
@pytest.mark.soak(area="trust")
@pytest.mark.parametrize(
    "recipe", tuple(LINES) if count(0, 1) else [random.Random("/".join(SAMPLE)).choice(QUICK)]
)
async def test_the_table_of_a_recipe(recipe: RecipeName, tmp_path: Path, sandbox: Sandbox) -> None:
    """Three of a fault and two of a polarity of one recipe, others with every commit; in a soak all,
    kept in `data/trust`. One fault alone says nothing: an exploration misses one in fifty."""
    if count(0, 1):
        outcomes = await asyncio.to_thread(run, ROOT / "data/trust" / recipe, recipe=recipe)
    else:
        dice = random.Random("/".join(SAMPLE))
        plan = Plan(
            faults=1,
            scenarios=10,
            kinds=(dice.choice(SURE), dice.choice(ANYTHING)),
            seed=dice.randrange(1000),
            recipe=recipe,
        )
        await work(plan, tmp_path, 0, 1, sandbox)
        outcomes = read_outcomes(tmp_path)
    assert "\n".join(write_recipe_page(recipe, outcomes))
    counted = [one for one in outcomes if one.made and not one.outage]
    check_kept([one for one in counted if one.kind in (CLEAN, REVIEWED, *ANYTHING)])
    check_caught(
        [one for one in counted if (one.prompt, one.kind) in set(list_kinds(recipe))], 0.95
    )
    check_caught([one for one in counted if one.prompt == MUTANT], 0.85)
    check_outsiders([one for one in counted if one.attacks])
    if count(1, 0):
        check_truth(counted)


@pytest.mark.soak(area="trust")
@pytest.mark.skipif(
    not count(0, 1), reason="under `make test` the recipe of the day alone: make soak AREA=trust"
)
def test_verifiers_over_tables_err_as_little_as_is_promised() -> None:
    """Those of all recipes are derived alike: what bounds their errors is counted together, behind
    the tables of all."""
    outcomes = [one for recipe in LINES for one in read_outcomes(ROOT / "data/trust" / recipe)]
    check_truth([one for one in outcomes if one.made and not one.outage])


def check_kept(honest: Sequence[Outcome]) -> None:
    dropped = [(one.key, one.drops) for one in honest if one.drops]
    assert len(dropped) <= max(1, 0.03 * len(honest)), dropped


def check_caught(planted: Sequence[Outcome], promised: float) -> None:
    """As many as are promised; of a few, half."""
    missed = [one.key for one in planted if not one.is_reported]
    assert len(missed) <= count(len(planted) // 2, 0) + (1 - promised) * len(planted), missed


@pytest.mark.long(cases=3)
@pytest.mark.parametrize(
    ("kind", "theme", "look", "reason"),
    [
        ("missing_where", "hotel_booking", w12.check, "every_row_changed"),
        ("missing_where", "funeral_services", w12.check, "every_row_changed"),
        ("missing_where", "court_calendars", w12.check, "rows_changed_alike"),
        ("beginnings_only", "beekeeping_cooperative", w12.check, "whole_words_only"),
        ("random_order", "fleet_maintenance", w5.check, "draws_lots"),
    ],
)
async def test_what_only_sql_gets_wrong_is_seen(
    kind: str,
    theme: str,
    look: Callable[[EnvironmentCase, GateContext], Awaitable[Finding]],
    reason: str,
    jail: Sandbox,
) -> None:
    built = await make_faulty("awm", theme, 0, "code", kind, jail)
    assert isinstance(built, EnvironmentCase)
    finding = await look(built, GateContext(jail, seed=SEED))
    assert (finding.outcome, finding.reason) == ("dropped", reason)


@pytest.mark.parametrize(
    ("kind", "theme"),
    [
        ("forgotten_effect", "court_calendars"),
        ("applied_twice", "hotel_booking"),
        ("overwritten_total", "fleet_maintenance"),
    ],
)
async def test_what_ends_in_success_and_changes_something_else_is_seen_by_tests_that_expect_values(
    kind: str, theme: str, jail: Sandbox
) -> None:
    built = await make_faulty("awm", theme, 0, "code", kind, jail)
    assert isinstance(built, EnvironmentCase)
    finding = await w3.check(built, GateContext(jail, seed=SEED))
    assert (finding.outcome, finding.reason) == ("dropped", "test_failed")
    assert "after/" in finding.detail
    ends_alone = tuple(
        Test.model_validate(test.model_dump() | {"id": "", "after": {}}) for test in built.tests
    )
    assert (
        await w3.check(replace(built, tests=ends_alone), GateContext(jail, seed=SEED))
    ).outcome == "kept"


@pytest.mark.parametrize(
    ("theme", "number", "place"), [("laboratory_samples", 4, 0), ("crop_planning", 7, 2)]
)
async def test_the_truth_knows_the_end_of_a_right_path_where_columns_write_numbers_their_way(
    theme: str, number: int, place: int, jail: Sandbox
) -> None:
    posed = await pose_at("awm", Spot(theme, number, place, "achieve"), "scenario", "", jail)
    assert isinstance(posed, ScenarioCase)
    scenario = posed.scenario
    reset = Reset(scenario.initial_state, scenario.clock, scenario.seed)
    *_, end = await jail.play(
        Program.of(posed.environment), [reset, *map(Invoke, scenario.oracle), Look()]
    )
    truth = find_truth(scenario, posed.environment, SEED)
    assert callable(truth)
    assert truth(end.state)
    assert not truth(scenario.initial_state)


async def test_checks_are_written_over_tables_as_the_line_asks_for_them(jail: Sandbox) -> None:
    posed = await pose_at("awm", Spot("hotel_booking", 0, 0, "achieve"), "checks", "", jail)
    assert isinstance(posed, ScenarioCase)
    assert posed.scenario.verifier.goals[0].source


@pytest.mark.long
async def test_a_read_that_a_plan_leaves_out_is_corrected_and_nothing_else_is(
    jail: Sandbox,
) -> None:
    clean = await make("envfactory", "tool_lending", 0, Planted(), jail)
    spoilt = await make_faulty("envfactory", "tool_lending", 0, "metadata", "undeclared_read", jail)
    assert isinstance(clean, EnvironmentCase)
    assert isinstance(spoilt, EnvironmentCase)
    told = {tool.name: tool.reads for tool in spoilt.environment.tools}
    left_out = [
        (tool.name, [read])
        for tool in clean.environment.tools
        for read in tool.reads
        if read not in told[tool.name]
    ]
    assert await list_corrected(spoilt, jail) == left_out != []
    assert await list_corrected(clean, jail) == []


async def list_corrected(built: EnvironmentCase, jail: Sandbox) -> list[tuple[str, list[str]]]:
    found = (await w8.check(built, GateContext(jail, seed=SEED))).spread()
    return [
        (one.evidence["tool"], one.evidence["tables"])
        for one in found
        if one.outcome == "corrected"
    ]


async def test_a_table_shows_what_is_corrected_and_does_not_call_it_dropped(
    sandbox: Sandbox,
) -> None:
    outcome = await do(
        Job("interface", "undeclared_read", "bakery_production", 0, recipe="awm"), sandbox
    )
    assert (outcome.drops, [each[:2] for each in outcome.corrected]) == (
        (),
        [("W8", "undeclared_read")],
    )
    row, weak = read_row([outcome], "undeclared_read")
    assert (
        row == "| undeclared_read | 1 | 0 | 0.0% | 0.0% | 0.0% | 100.0% | 5.0% | W8 "
        "undeclared_read, corrected 1 |"
    )
    assert "undeclared_read (interface)" not in weak
    row, weak = read_row([outcome.model_copy(update={"corrected": ()})], "undeclared_read")
    assert row == "| undeclared_read | 1 | 0 | 0.0% | 0.0% | 0.0% | 0.0% | 0.0% |  |"
    assert "undeclared_read (interface): 0 of 1 caught" in weak


def test_a_correction_beside_another_fault_does_not_count_as_its_report() -> None:
    beside = Outcome(
        key="k",
        recipe="awm",
        prompt="interface",
        kind="wrong_effect",
        corrected=(("W8", "undeclared_read", "f reads t"),),
    )
    row, weak = read_row([beside], "wrong_effect")
    assert row == "| wrong_effect | 1 | 0 | 0.0% | 0.0% | 0.0% | 0.0% | 0.0% |  |"
    assert "wrong_effect (interface): 0 of 1 caught" in weak


def read_row(outcomes: Sequence[Outcome], kind: str) -> tuple[str, str]:
    """The row of a kind on a recipe's page, and what the page says falls short."""
    page = "\n".join(write_recipe_page("awm", outcomes))
    return next(
        line for line in page.splitlines() if line.startswith(f"| {kind} |")
    ), page.partition("## What falls short")[2]
