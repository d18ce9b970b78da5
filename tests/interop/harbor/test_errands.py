"""Errands, whose health is asked by tests, leave as folders and come back as any machine does."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.settings import Settings
from envmill.interop.harbor.grading import grade
from envmill.interop.harbor.tree import FolderFile, Tree
from envmill.interop.harbor.validating import find_faults
from envmill.interop.harbor.writing import write_task
from envmill.interop.importers import IMPORTERS
from envmill.kinds import kind_of
from envmill.kinds.terminal import compose_checks
from envmill.kinds.terminal.errands import outfitting
from envmill.kinds.terminal.errands.outfitting import outfit, pose_errand
from envmill.kinds.terminal.errands.trying import ErrandTrial
from envmill.sandbox.containers import Engine, find_base, lend
from envmill.sandbox.machines.exams import list_tests
from offline.errands.compose import compose_job
from offline.errands.worlds import WORLDS
from schemas.environment import Environment
from schemas.scenario import Scenario
from tests.interop.harbor.machines import BROKEN, write_tree
from tests.recipes.test_endless_terminals import RECIPE, SEED, Asked, of, plan
from tests.soak import count

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.soak(area="terminal")]
SETTINGS = Settings.read(os.environ)
CATEGORIES = sorted(WORLDS)


async def make_errand(
    category: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Environment, Scenario]:
    """Nothing is tried: grading shows whether it holds."""
    goals = tuple(list_tests(compose_job(of(category).brief, SEED).final_test))

    async def hold(*_: Any) -> ErrandTrial:
        return ErrandTrial(goals=goals)

    monkeypatch.setattr(outfitting, "try_machine", hold)
    monkeypatch.setattr(outfitting, "try_solution", hold)
    made = await outfit(await plan(of(category)), RECIPE, cast(Any, None), cast(Any, Asked()))
    assert made.environment
    posed = pose_errand(made.environment)
    verifier = compose_checks(posed.initial_state)
    told = {
        "initial_state": posed.initial_state,
        "request": posed.request,
        "oracle": posed.oracle,
        "verifier": verifier,
    }
    return made.environment, Scenario.model_validate(
        {**BROKEN.model_dump(exclude={"id"}), **told, "environment": made.environment.id}
    )


def pack(environment: Environment, scenario: Scenario) -> Tree:
    files = write_task(environment, scenario, {}, "EnvMill canary")
    return Tree(scenario.id, {path: FolderFile(content) for path, content in files.items()})


@pytest.mark.parametrize("category", CATEGORIES)
async def test_an_errand_comes_back_as_it_was(
    category: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, scenario = await make_errand(category, monkeypatch)
    assert kind_of(environment).find_formless("harbor", scenario) == ""
    tree = pack(environment, scenario)
    assert find_faults(tree) == []
    harvest = await IMPORTERS["harbor"](write_tree(tmp_path, tree), cast(Any, None))
    (folder,) = harvest.folders.values()
    assert (folder.environment, folder.scenarios, harvest.remarks) == (environment, (scenario,), [])


@pytest.mark.long
@pytest.mark.parametrize("category", CATEGORIES[: count(1, len(CATEGORIES))])
async def test_an_errand_pays_for_its_solution_alone(
    boxes: Engine, category: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = pack(*await make_errand(category, monkeypatch))
    for solution, reward in ((False, 0.0), (True, 1.0)):
        found = await grade(
            lambda: lend(boxes, find_base(SETTINGS.images)), tree, solution=solution
        )
        assert found.reward == reward, found
