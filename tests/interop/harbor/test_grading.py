"""Exported folders are graded for real: doing nothing earns 0, the solution 1, and where there is
no report there is no reward."""

import os
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.interop.harbor.grading import Grade, build, grade
from envmill.interop.harbor.recipe import read_recipe
from envmill.sandbox.containers import CachedImage, Container, Engine, lend, open_engine
from tests.hostile.engine import Engine as Daemon
from tests.hostile.engine import NoEngine
from tests.interop.harbor.machines import make_tree
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = Settings.read(os.environ)
SOLVE = make_tree().text("solution/solve.sh")


async def grade_in(
    engine: Engine,
    base: CachedImage,
    changes: Mapping[str, str] | None = None,
    *,
    solution: bool = True,
) -> Grade:
    return await grade(lambda: lend(engine, base), make_tree(**(changes or {})), solution=solution)


async def test_nothing_done_earns_nothing_and_the_solution_everything(
    boxes: Engine, base: CachedImage
) -> None:
    assert (await grade_in(boxes, base, solution=False)).reward == 0.0
    assert (await grade_in(boxes, base)).reward == 1.0


FORGE = "mkdir -p /logs/verifier; (while :; do echo 1 >/logs/verifier/reward.txt; done) &"
LIAR = (
    "mkdir -p /logs/verifier; echo 1 | tee /logs/verifier/report.json "
    ">/logs/verifier/reward.txt; exit 0"
)
REPLACE = (
    "printf '#!/bin/sh\\n%s\\n' >/tmp/liar; for each in python3.11 tar; do install -m 755 "
    "/tmp/liar /usr/bin/$each; done"
)
PACK = "printf '#!/bin/sh\\n%s\\n' >/usr/bin/tar"
MORE = (
    pytest.param(f"{SOLVE}\nchmod 777 /srv/survey/private; {FORGE}", 0.0, id="opened-and-forged"),
    pytest.param(f"{SOLVE}\nuseradd eve", 0.0, id="user"),
    pytest.param(f"{SOLVE}\nrm -r /var/lib/begun", 1.0, id="no-record"),
    pytest.param(
        f"{SOLVE}\nmkdir -p /tests; echo 1 >/tests/test.sh; cp /bin/true /usr/bin/python3.11",
        1.0,
        id="what-does-not-come-along",
    ),
    pytest.param(REPLACE % LIAR, None, id="programs-that-lie"),
    pytest.param("echo '{\"own\": {}}' >/var/lib/begun/record.json", 0.0, id="record-that-lies"),
    pytest.param(
        PACK % "head -c 99999 /dev/urandom >/logs/artifacts/machine.tar", 0.0, id="no-archive"
    ),
    pytest.param(PACK % "mkfifo /logs/artifacts/machine.tar", None, id="no-file"),
    pytest.param("truncate -s 100G /srv/survey/notices/hole /srv/hole", 0.0, id="holes"),
)
SILENT = (
    pytest.param(
        {"tests__check_DOT_py": "raise SystemExit(1)"}, "no reward was written", id="no-report"
    ),
    pytest.param({"environment__set_up_DOT_sh": "exit 3"}, "does not build", id="build"),
    pytest.param(
        {"tests__test_DOT_sh": "#!/bin/bash\necho nan >/logs/verifier/reward.txt"},
        "no number",
        id="nan",
    ),
    pytest.param(
        {"tests__test_DOT_sh": "#!/bin/bash\n: >/logs/verifier/reward.json"},
        "no number",
        id="empty",
    ),
    pytest.param({"solution__solve_DOT_sh": "#!/bin/bash\nexit 7\n"}, "exit code 7", id="solution"),
)


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize(("more", "reward"), MORE[: count(1, len(MORE))])
async def test_what_an_agent_leaves_is_paid_as_far_as_it_comes_along(
    boxes: Engine, base: CachedImage, more: str, reward: float | None
) -> None:
    found = await grade_in(boxes, base, {"solution__solve_DOT_sh": f"#!/bin/bash\n{more}\ntrue\n"})
    assert found.reward == reward, found


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize(("changes", "says"), SILENT[: count(2, 5)])
async def test_no_report_is_no_reward(
    boxes: Engine, base: CachedImage, changes: dict[str, str], says: str
) -> None:
    found = await grade_in(boxes, base, changes)
    assert found.reward is None
    assert says in found.reason


async def test_an_agent_finds_neither_tests_nor_solution(boxes: Engine, base: CachedImage) -> None:
    tree = make_tree()
    async with lend(boxes, base) as container:
        assert not await build(
            container,
            read_recipe(tree.text("environment/Dockerfile"), tree.below("environment")),
            60,
        )
        seek = (
            "find / -xdev -newer /bin/bash -type f \\( -name check.py -o -name 'break-*' -o "
            "-name begin.sh -o -name solve.sh \\)"
        )
        assert (
            await container.shell(f"{seek}; ls -d /tests /solution /tmp/*", seconds=60)
        ).text.count("No such file") == 3
        told = (
            await container.shell(
                "grep -rlE 'chmod a-x' /etc /srv /usr/local /var/lib/begun /tmp /root"
            )
        ).text
    assert told == ""


@pytest.mark.long
async def test_no_word_of_the_tests_comes_to_where_the_agent_was(
    boxes: Engine, base: CachedImage
) -> None:
    """Looked for before its container goes, when the tests are about to run elsewhere."""
    seen: list[str] = []

    @asynccontextmanager
    async def watch() -> AsyncGenerator[Container]:
        async with lend(boxes, base) as container:
            yield container
            seek = (
                "ls /tests /solution; grep -rlE 'def posts|want_closed' / --include=* -s "
                "--exclude-dir=proc --exclude-dir=sys"
            )
            seen.append((await container.run(["/bin/bash", "-c", seek], seconds=60)).text)

    assert (await grade(watch, make_tree(), solution=False)).reward == 0.0
    agents, apart = seen
    assert agents.count("No such file") == 2
    assert len(agents.splitlines()) == 2
    assert "/tests/check.py" in apart


async def test_tests_do_not_run_where_an_agent_was(boxes: Engine, base: CachedImage) -> None:
    """A reader that passes over `environment_mode` puts them there."""
    config = re.sub(
        r"\[verifier.environment\][^\[]*|\[\[verifier.collect\]\][^\[]*",
        "",
        make_tree().text("task.toml"),
    )
    found = await grade_in(boxes, base, {"task_DOT_toml": config.replace('"separate"', '"shared"')})
    assert found.reward is None
    assert "lie where the agent worked" in found.output


async def test_what_is_in_a_registry_cannot_be_graded_here(
    boxes: Engine, base: CachedImage
) -> None:
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
@pytest.mark.skipif(
    count(0, 1) == 0,
    reason="a daemon and an image's import take half a minute: make soak AREA=terminal",
)
async def test_docker_grades_alike(daemon: Daemon, base: CachedImage) -> None:
    async with open_engine(
        Settings.read({**os.environ, "DOCKER_HOST": daemon.host}), "docker"
    ) as engine:
        assert (await grade_in(engine, base, solution=False)).reward == 0.0
        assert (await grade_in(engine, base)).reward == 1.0
