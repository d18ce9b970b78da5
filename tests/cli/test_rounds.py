"""Rounds: how many there are, what each begins with, and what a target may be combined with."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.base.errors import BudgetReached, SettingsError
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.entering import enter_seeds
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from flows.rounds import check_rounds, fill_in, make_round, next_round
from schemas.ledger import Attrition
from schemas.run import RunConfig
from tests.quality.specimen import exit_row, make_call


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def keep(lake: Lake, run: str, count: int) -> None:
    """A round that is over and kept so many environments, and dropped one."""
    rows = [exit_row("environments-filter", f"env_{run}_{number}") for number in range(count)]
    rows.append(
        exit_row("environments-filter", f"env_{run}_x", outcome="dropped", reason="duplicate")
    )
    lake.put(Attrition, rows, "rows", Stamp(run, "environments-filter", "f", 0, 1, "", ""))


def count_rounds(lake: Lake, config: RunConfig, kept: int) -> int:
    done: list[str] = []
    while number := next_round(lake, done, config):
        done.append(f"r{number}")
        keep(lake, done[-1], kept)
    return len(done)


@pytest.mark.parametrize(
    ("asked", "kept", "rounds"),
    [
        pytest.param({}, 0, 1, id="no target, one round"),
        pytest.param({"target": 4}, 4, 1, id="reached at once"),
        pytest.param({"target": 5}, 4, 2, id="reached in the second"),
        pytest.param({"target": 5}, 0, 3, id="four times the target are spent, all rounds whole"),
        pytest.param(
            {"target": 50, "max_candidates": 13}, 1, 2, id="the bound allows two rounds of six"
        ),
        pytest.param(
            {"target": 1, "environments": 10}, 0, 1, id="a round larger than four times the target"
        ),
    ],
)
def test_rounds_go_on_until_the_target_or_the_bound(
    lake: Lake, asked: dict[str, Any], kept: int, rounds: int
) -> None:
    assert count_rounds(lake, RunConfig.model_validate({"environments": 6} | asked), kept) == rounds


def test_a_round_is_a_run_of_its_own_with_the_next_seeds(lake: Lake) -> None:
    """What rounds before used comes last; where earlier runs do not count, a round skips as many
    seeds as the rounds before had."""
    config = RunConfig(environments=3, target=9, seed=1)
    rounds = [make_round(config, "night", number) for number in (1, 2, 3)]
    assert [(one.run, one.first, one.target) for one in rounds] == [
        ("", 0, 9),
        ("night-r2", 0, None),
        ("night-r3", 0, None),
    ]
    rounds = [
        make_round(config.model_copy(update={"fresh": False}), "night", number)
        for number in (1, 2, 3)
    ]
    assert [(one.run, one.first, one.target) for one in rounds] == [
        ("", 0, 9),
        ("night-r2", 3, None),
        ("night-r3", 6, None),
    ]
    recipe = RECIPES["envscaler"](read_themes())
    seeds = [
        [
            one.id
            for one in enter_seeds(
                cast(Any, SimpleNamespace(config=each, recipe=recipe, choice=None))
            )
        ]
        for each in rounds
    ]
    whole = [one.id for one in recipe.pick_seeds(rounds[0].model_copy(update={"environments": 9}))]
    assert [seed for each in seeds for seed in each] == whole


def test_later_rounds_have_what_earlier_ones_left_of_the_budget() -> None:
    calls = [
        make_call("seed_a").model_copy(
            update={"cost": 0.5, "reused": False, "tokens_in": 10, "tokens_out": 5}
        )
    ]
    second = make_round(
        RunConfig(target=9, budget=2.0, budget_tokens=100), "night", 2, [calls, calls]
    )
    assert (second.budget, second.budget_tokens) == (1.0, 70)
    with pytest.raises(BudgetReached, match="--resume night --budget MORE"):
        make_round(RunConfig(target=9, budget=1.0), "night", 2, [calls, calls])
    unanswered = [
        call.model_copy(update={"possibly_paid_cost": 0.5, "possibly_paid_tokens": 20})
        for call in calls
    ]
    third = make_round(
        RunConfig(target=9, budget=2.0, budget_tokens=100), "night", 3, [calls, unanswered]
    )
    assert (third.budget, third.budget_tokens) == (0.5, 50)


def test_a_resumed_run_has_the_target_it_began_with(lake: Lake) -> None:
    began = RunConfig(environments=3, target=9, seed=1)
    lake.fix("night", "config", began.model_dump(mode="json"))
    note(lake, "night", "started", {})
    resumed = fill_in(lake, "night", RunConfig(run="night", budget=7.0))
    assert (resumed.target, resumed.environments, resumed.run, resumed.budget) == (
        9,
        3,
        "night",
        7.0,
    )


@pytest.mark.parametrize(
    ("asked", "budget"),
    [
        pytest.param(RunConfig(run="night"), 7.0, id="resumed without a bound"),
        pytest.param(RunConfig(target=9, budget=2.0), 7.0, id="a retry, with the first bound"),
        pytest.param(RunConfig(run="night", budget=9.0), 9.0, id="resumed with another bound"),
    ],
)
def test_the_budget_that_was_agreed_on_last_counts(
    lake: Lake, asked: RunConfig, budget: float
) -> None:
    lake.fix("night", "config", RunConfig(target=9, budget=2.0).model_dump(mode="json"))
    note(lake, "night", "started", {})
    assert fill_in(lake, "night", RunConfig(target=9, budget=2.0)).budget == 2.0
    assert fill_in(lake, "night", RunConfig(run="night", budget=7.0)).budget == 7.0
    assert fill_in(lake, "night", asked).budget == budget


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"target": 3, "corpus": "own"}, "Leave out one of the two"),
        ({"max_candidates": 9}, "set `target` too"),
        ({"target": 3, "max_candidates": 2, "environments": 4}, "Set fewer `environments`"),
    ],
)
def test_what_makes_no_sense_is_told(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        check_rounds(RunConfig.model_validate(asked))
