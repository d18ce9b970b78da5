"""Runs over the kept environments of an earlier run: nothing is written again, numbers go on, and
easy scenarios get harder ones."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.choice import find_choice
from flows.opening import open_walk
from schemas.environment import Blueprint, Environment, Test
from schemas.errand_plan import PlannedErrand
from schemas.ledger import Attrition, Evidence, ModelCall
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario

SMALL: dict[str, Any] = {
    "environments": 2,
    "scenarios": 3,
    "mistakes": 0.0,
    "seed": 5,
    "attempts": 3,
    "search": 5,
    "exporters": "rl",
}


def walk(
    settings: Settings, run: str, answer: Any = author.answer, until: str = "", **config: Any
) -> None:
    async def go() -> None:
        async with open_walk(
            run, RunConfig.model_validate(SMALL | config), settings, answer
        ) as opened:
            names = [step.name for step in opened.line]
            await opened.walk(opened.line[: names.index(until) + 1] if until else ())

    asyncio.run(go())


def settle(folder: Path) -> Settings:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A run of two environments, and beside it one that goes on with them and one that makes their
    scenarios harder. Both end when their scenarios are written."""
    settings = settle(tmp_path_factory.mktemp("given"))
    walk(settings, "first")
    walk(settings, "more", until="scenarios-generate", environments_of="first", scenarios=2)
    walk(
        settings, "harder", until="scenarios-generate", harden="first", above=0.0, least_attempts=1
    )
    return settings


def read(settings: Settings, record: Any, run: str) -> dict[str, Any]:
    return {one.id: one for one in Lake(settings.lake).read(record, run)}


def list_kept(settings: Settings, run: str, lap: str, stage: str) -> set[str]:
    rows = Lake(settings.lake).read(Attrition, run)
    return {
        row.subject
        for row in rows
        if (row.lap, row.stage, row.gate, row.outcome) == (lap, stage, "exit", "kept")
    }


@pytest.mark.parametrize("run", ["more", "harder"])
def test_environments_enter_as_they_are_and_no_model_is_asked_about_them(
    first: Settings, run: str
) -> None:
    for record in (Environment, Blueprint, Test):
        known, given = read(first, record, "first"), read(first, record, run)
        assert given, record
        assert given == {key: known[key] for key in given}
    kept = list_kept(first, "first", "environments", "filter")
    assert set(read(first, Environment, run)) <= kept
    assert run == "harder" or set(read(first, Environment, run)) == kept
    assert list_kept(first, run, "environments", "filter") == set(read(first, Environment, run))
    steps = Counter(call.step for call in Lake(first.lake).read(ModelCall, run))
    assert not [step for step in steps if step.startswith("environments")]
    rows = [row for row in Lake(first.lake).read(Attrition, run) if row.lap == "environments"]
    assert {row.detail for row in rows if row.gate == "given"} == {"made by run first"}
    assert "W10" in {row.gate for row in rows}
    assert {row.tokens for row in rows} == {0}


def test_numbers_go_on_behind_those_of_the_earlier_run(first: Settings) -> None:
    drafted = {(one.environment, one.number) for one in read(first, Draft, "more").values()}
    assert {number for _, number in drafted} <= {3, 4}
    assert drafted
    assert not drafted & {
        (one.environment, one.number) for one in read(first, Draft, "first").values()
    }


def test_lines_of_the_earlier_run_are_taken(first: Settings) -> None:
    known = {one.what for one in read(first, PlannedErrand, "first").values()}
    assert not known & {one.what for one in read(first, PlannedErrand, "more").values()}


def test_each_easy_scenario_gets_a_harder_one(first: Settings) -> None:
    choice = find_choice(Lake(first.lake), "harder")
    assert choice is not None
    assert choice.given is not None
    parents = {one.scenario: one for one in choice.given.parents}
    assert parents
    lines = read(first, PlannedErrand, "harder").values()
    assert {one.parent for one in lines} <= parents.keys()
    assert lines
    scenarios = read(first, Scenario, "first")
    for line in lines:
        assert line.levers
        assert line.polarity == scenarios[line.parent].polarity
        assert [one.policy for one in line.rates] == [
            one.policy for one in parents[line.parent].rates
        ]
    dossiers = [
        one.finding for one in read(first, Evidence, "harder").values() if one.gate == "harder"
    ]
    assert len(dossiers) == len(read(first, Draft, "harder"))
    assert all(one["shown"] for one in dossiers)
