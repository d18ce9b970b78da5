"""Exported folders are graded for real: doing nothing earns 0, the solution 1, and where there is no report there is no reward."""

import os
from collections.abc import Iterator, Mapping

import pytest

from envmill.errors import SettingsError
from envmill.harbor.grading import Grade, build, grade
from envmill.harbor.recipe import read_recipe
from envmill.sandbox.containers import Engine, Image, lend, open_engine
from envmill.settings import Settings
from tests.harbor.machines import make_tree
from tests.hostile.engine import Engine as Daemon
from tests.hostile.engine import NoEngine
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = Settings.read(os.environ)
SOLVE = make_tree().text("solution/solve.sh")


async def grade_in(engine: Engine, base: Image, changes: Mapping[str, str] | None = None, *, solution: bool = True) -> Grade:
    async with lend(engine, base) as container:
        return await grade(container, make_tree(**(changes or {})), solution=solution)


async def test_nothing_done_earns_nothing_and_the_solution_everything(boxes: Engine, base: Image) -> None:
    assert (await grade_in(boxes, base, solution=False)).reward == 0.0
    assert (await grade_in(boxes, base)).reward == 1.0


FORGE = "mkdir -p /logs/verifier; (while :; do echo 1 >/logs/verifier/reward.txt; done) &"
MORE = (
    pytest.param(f"chmod 777 /srv/survey/private; {FORGE}", 0.0, id="opened-and-forged"),
    pytest.param("useradd eve", 0.0, id="user"),
    pytest.param("rm -r /var/lib/begun", None, id="record"),
    pytest.param("cp /bin/true /usr/bin/python3.11", None, id="interpreter"),
)
SILENT = (
    pytest.param({"tests__check_DOT_py": "raise SystemExit(1)"}, "no reward was written", id="no-report"),
    pytest.param({"environment__set_up_DOT_sh": "exit 3"}, "does not build", id="build"),
    pytest.param({"tests__test_DOT_sh": "#!/bin/bash\necho nan >/logs/verifier/reward.txt"}, "no number", id="nan"),
    pytest.param({"tests__test_DOT_sh": "#!/bin/bash\n: >/logs/verifier/reward.json"}, "no number", id="empty"),
    pytest.param({"solution__solve_DOT_sh": "#!/bin/bash\nexit 7\n"}, "exit code 7", id="solution"),
)


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize(("more", "reward"), MORE[: count(1, 4)])
async def test_a_solution_that_does_more_earns_nothing(boxes: Engine, base: Image, more: str, reward: float | None) -> None:
    found = await grade_in(boxes, base, {"solution__solve_DOT_sh": f"{SOLVE}\n{more}\ntrue\n"})
    assert found.reward == reward, found


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize(("changes", "says"), SILENT[: count(2, 5)])
async def test_no_report_is_no_reward(boxes: Engine, base: Image, changes: dict[str, str], says: str) -> None:
    found = await grade_in(boxes, base, changes)
    assert found.reward is None
    assert says in found.reason


async def test_an_agent_finds_neither_tests_nor_solution(boxes: Engine, base: Image) -> None:
    tree = make_tree()
    async with lend(boxes, base) as container:
        assert not await build(container, read_recipe(tree.text("environment/Dockerfile"), tree.below("environment")), 60)
        seek = "find / -xdev -newer /bin/bash -type f \\( -name check.py -o -name 'break-*' -o -name begin.sh -o -name solve.sh \\)"
        assert (await container.shell(f"{seek}; ls -d /tests /solution /tmp/*", seconds=60)).text.count("No such file") == 3
        told = (await container.shell("grep -rlE 'chmod a-x' /etc /srv /usr/local /var/lib/begun /tmp /root")).text
    assert told == ""


async def test_what_is_in_a_registry_cannot_be_graded_here(boxes: Engine, base: Image) -> None:
    with pytest.raises(SettingsError, match=r"it stands on ubuntu:22\.04, which is in a registry"):
        await grade_in(boxes, base, {"environment__Dockerfile": "FROM ubuntu:22.04\n"})


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    try:
        engine = Daemon(driver="overlay2")
    except NoEngine as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield engine
    engine.close()


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(count(0, 1) == 0, reason="a daemon and an image's import take half a minute: make soak AREA=terminal")
async def test_docker_grades_alike(daemon: Daemon, base: Image) -> None:
    async with open_engine(Settings.read({**os.environ, "DOCKER_HOST": daemon.host}), "docker") as engine:
        assert (await grade_in(engine, base, solution=False)).reward == 0.0
        assert (await grade_in(engine, base)).reward == 1.0
