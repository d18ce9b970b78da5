"""Items that real authors wrote, by recipe: what the operators multiply.

tests/real_authors ──replayed─────────┐
tests/authors/kept ──lake, unpacked───┼──► World: plan, environment with its tests, scenarios
desks.json.xz ──rows of two runs──────┘
"""

import json
import lzma
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT
from envmill.gates.base import EnvironmentCase, ScenarioCase
from envmill.lake.lake import Lake
from envmill.sandbox import Sandbox
from envmill.stages.context import Subject
from envmill.stages.generate import generate_blueprint
from schemas.environment import Blueprint, Environment, Test
from schemas.run import RecipeName
from schemas.scenario import Scenario
from tests.archives import unpack
from tests.real_authors.author import Author, Desk
from tests.real_authors.corpus import Item, list_items
from tests.real_authors.making import SEED, make, make_mill

_ARCHIVE = ROOT / "tests/authors/kept/again/worlds.tar.xz"
_LAKES = {"scaleenv": "lake", "envfactory": "lake", "autoforge": "lake-autoforge"}
_DESKS = Path(__file__).with_name("desks.json.xz")
"""Of recipe `tau2`: what real authors wrote in two runs, and the gates kept."""
_SIBLINGS = 2


@dataclass(frozen=True)
class World:
    """One environment that a real author wrote."""

    name: str
    plan: Blueprint
    built: EnvironmentCase
    posed: tuple[ScenarioCase, ...]


async def list_worlds(recipe: RecipeName, sandbox: Sandbox) -> list[World]:
    if recipe == "tau2":
        return list(_read_desks())
    replayed = [world async for world in _replay(recipe, sandbox)]
    return [*replayed, *_unpack(recipe)] if recipe in _LAKES else replayed


async def _replay(recipe: RecipeName, sandbox: Sandbox) -> AsyncIterator[World]:
    for item in (item for item in list_items() if item.recipe == recipe):
        made = await make(item, sandbox)
        if made.environment is not None:
            plan = await _plan(item, sandbox)
            yield _assemble(
                item.id, plan, made.environment, made.tests, list(made.scenarios.values())
            )


async def _plan(item: Item, sandbox: Sandbox) -> Blueprint:
    desk, seed = Desk(Author(item), SEED), item.seed
    planned = await generate_blueprint(
        Subject(seed.id, "", "", seed), make_mill(item, sandbox), desk.open_session(seed.id)
    )
    return next(one for one in planned.records if isinstance(one, Blueprint))


@cache
def _open_archive() -> tempfile.TemporaryDirectory[str]:
    """Unpacked once, and gone with the process."""
    folder = tempfile.TemporaryDirectory()
    unpack(_ARCHIVE, Path(folder.name))
    return folder


def _unpack(recipe: RecipeName) -> Iterator[World]:
    lake = Lake(Path(_open_archive().name) / _LAKES[recipe])
    for run in sorted(lake.runs_with(Environment)):
        plans = {plan.id: plan for plan in lake.read(Blueprint, run)}
        tests, scenarios = list(lake.read(Test, run)), list(lake.read(Scenario, run))
        for environment in lake.read(Environment, run):
            plan = plans.get(environment.blueprint)
            if plan is not None and plan.brief.theme and environment.origin.recipe == recipe:
                own = [one for one in scenarios if one.environment == environment.id]
                yield _assemble(
                    f"{run[:4]}/{environment.brief.theme}",
                    plan,
                    environment,
                    tuple(one for one in tests if one.environment == environment.id),
                    own,
                )


def _read_desks() -> Iterator[World]:
    rows: dict[str, list[Any]] = json.loads(lzma.decompress(_DESKS.read_bytes()))
    plans = {row["id"]: Blueprint.model_validate(row) for row in rows["blueprints"]}
    tests = [Test.model_validate(row) for row in rows["tests"]]
    scenarios = [Scenario.model_validate(row) for row in rows["scenarios"]]
    for environment in map(Environment.model_validate, rows["environments"]):
        yield _assemble(
            f"{environment.brief.theme}/{environment.id[4:8]}",
            plans[environment.blueprint],
            environment,
            tuple(one for one in tests if one.environment == environment.id),
            [one for one in scenarios if one.environment == environment.id],
        )


def _assemble(
    name: str,
    plan: Blueprint,
    environment: Environment,
    tests: tuple[Test, ...],
    scenarios: list[Scenario],
) -> World:
    posed = [
        ScenarioCase(
            one, environment, tuple(other for other in scenarios if other is not one)[:_SIBLINGS]
        )
        for one in scenarios
    ]
    return World(name, plan, EnvironmentCase(environment, tests), tuple(posed))
