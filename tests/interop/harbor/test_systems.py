"""Systems, each broken in two places, leaves as a folder that pays for its solution and for nothing
less."""

import os
import random

import pytest

from envmill.base.settings import Settings
from envmill.interop.harbor.grading import grade
from envmill.interop.harbor.tree import FolderFile, Tree
from envmill.interop.harbor.writing import write_task
from envmill.kinds.terminal import write_step
from envmill.kinds.terminal.breaking.composing import compose
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.sandbox.containers import Engine, find_base, lend
from envmill.sandbox.machines.healthy import SERVICES
from schemas.system import BrokenSystem
from tests.kinds.terminal.breaking.forgers import FORGERS
from tests.kinds.terminal.breaking.mends import Mend
from tests.kinds.terminal.breaking.test_mends import find_fault
from tests.kinds.terminals import call, make_environment, make_scenario
from tests.soak import count

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.soak(area="terminal")]
SETTINGS = Settings.read(os.environ)
FORGED = [
    name
    for name, each in FORGERS.items()
    if each.won and not each.tool and each.system != "supervised"
]
FORGED += [
    "git: settings of the system",
    "python: sitecustomize",
    "an interpreter's home that did not exist",
]
OTHERS = [name for name in list_systems() if name != "website"]
SYSTEMS = ["website", *OTHERS][: count(1, 14)]


@pytest.mark.parametrize("name", SYSTEMS)
async def test_nothing_done_is_0_and_the_solution_is_1(boxes: Engine, name: str) -> None:
    environment = make_environment(name)
    broken = compose(load_system(name), 2, random.Random(name))
    mended = [
        write_step(f"{fault.mend_script}\n{SERVICES} restart || true")
        for fault in broken.faults[::-1]
    ]
    drawn = make_scenario(environment, broken, set(load_system(name).system.complaints))
    scenario = drawn.model_copy(update={"oracle": [call(each) for each in mended]})
    files = {
        path: FolderFile(content)
        for path, content in write_task(environment, scenario, {}, "EnvMill canary").items()
    }
    for solution, reward in ((False, 0.0), (True, 1.0)):
        found = await grade(
            lambda: lend(boxes, find_base(SETTINGS.images)), Tree(name, files), solution=solution
        )
        assert found.reward == reward, found


@pytest.mark.parametrize("name", FORGED[: count(1, len(FORGED))])
async def test_a_forger_earns_nothing(boxes: Engine, name: str) -> None:
    forger = FORGERS[name]
    environment = make_environment(forger.system)
    fault = find_fault(Mend(forger.system, forger.operator, forger.handle, "", False))
    broken = BrokenSystem(system=forger.system, variation=0, faults=[fault])
    drawn = make_scenario(environment, broken, set(load_system(forger.system).system.complaints))
    scenario = drawn.model_copy(update={"oracle": [call(forger.script)]})
    files = {
        path: FolderFile(content)
        for path, content in write_task(environment, scenario, {}, "EnvMill canary").items()
    }
    found = await grade(
        lambda: lend(boxes, find_base(SETTINGS.images)), Tree(name, files), solution=True
    )
    assert found.reward == 0.0, found
