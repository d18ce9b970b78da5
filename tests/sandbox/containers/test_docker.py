"""Docker behind the same interface: attacks, files that branch, a pool, and a driver that is
killed. In an engine of the tests' own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.kinds import open_sandbox
from envmill.kinds.terminal.gates.mended import FORGERS
from envmill.kinds.trial import try_calls
from envmill.sandbox.containers import CachedImage, Container, ContainerLimits, find_base, lend
from envmill.sandbox.containers.docker import Docker
from tests.hostile.engine import Engine
from tests.kinds.terminal.breaking import forgers
from tests.kinds.terminal.breaking.test_forgers import try_forger
from tests.kinds.terminals import break_system, call, make_environment, make_scenario
from tests.sandbox.containers.attacks import ATTACKS, UNDONE, WRITES, withstand
from tests.soak import count

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.soak(area="terminal")]


@pytest.fixture(scope="module")
def base() -> CachedImage:
    try:
        return find_base(Settings.read(os.environ).images)
    except SandboxError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(error.message)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def docker(docker_engine: Engine) -> AsyncGenerator[Docker]:
    engine = await Docker.open(docker_engine.host, spares=1)
    yield engine
    await engine.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def container(docker: Docker, base: CachedImage) -> AsyncGenerator[Container]:
    async with lend(
        docker, base, limits=ContainerLimits(memory=256 << 20, processes=64)
    ) as container:
        yield container


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_command_breaks_no_frame(container: Container, name: str) -> None:
    await withstand(container, name)


async def test_it_is_held_close(container: Container) -> None:
    status = (await container.run(["cat", "/proc/self/status"])).text
    assert "CapEff:\t00000000000405fb" in status
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert (await container.run(["ip", "-br", "addr"])).text.split()[:2] == ["lo", "UNKNOWN"]
    assert (await container.run(["mount", "-t", "tmpfs", "x", "/mnt"])).code != 0


async def test_what_is_taken_is_bounded(
    docker: Docker, container: Container, base: CachedImage
) -> None:
    async with lend(docker, base) as neighbour:
        await container.shell("bomb() { bomb | bomb & }; bomb")
        assert (await neighbour.shell("echo calm")).text == "calm\n"
        await container.quell()
        assert (
            await container.shell("x=a; while :; do x=$x$x; done", seconds=60)
        ).outcome == "ended"
        assert (await container.shell("echo calm")).text == "calm\n"
        assert (await neighbour.shell("echo calm")).text == "calm\n"


async def test_files_branch(docker: Docker, base: CachedImage) -> None:
    async with lend(docker, base) as first:
        assert (await first.put("/etc/motd", b"mine\n")).content
        layer = await first.snapshot()
        assert {"/etc/motd"} <= {change.path for change in await first.changes()}
        await first.put("/etc/motd", b"later\n")
        async with lend(docker, base, layer=layer) as second:
            assert (await second.get("/etc/motd")).content == b"mine\n"
        await first.reset(layer)
        assert (await first.get("/etc/motd")).content == b"mine\n"
    await docker.settle()
    await docker.forget(layer)


async def test_one_that_was_kept_ready_is_taken_at_once(docker: Docker, base: CachedImage) -> None:
    async with lend(docker, base):
        await docker.settle()
        waiting = {number for spares in docker._ready.values() for number, _ in spares}  # pyright: ignore[reportPrivateUsage]
        async with lend(docker, base) as second:
            assert second._number in waiting  # pyright: ignore


async def test_a_terminal_is_the_same_in_docker(
    docker_engine: Engine, base: CachedImage, tmp_path: Path
) -> None:
    """Untouched it begins as the scenario says, mended it passes, and a forger does not."""
    environment = make_environment()
    scenario = make_scenario(environment, break_system(), {"posts"})
    chosen = {
        "DOCKER_HOST": docker_engine.host,
        "ENVMILL_ENGINE": "docker",
        "ENVMILL_HOME": str(tmp_path),
    }
    async with open_sandbox(Settings.read({**os.environ, **chosen}), drivers=1) as sandbox:
        untouched = await try_calls(scenario, environment, sandbox, [])
        assert untouched.seen[-1].state == scenario.initial_state
        assert (
            await try_calls(scenario, environment, sandbox, scenario.oracle)
        ).verdict.outcome == "pass"
        for script in FORGERS.values():
            verdict = (await try_calls(scenario, environment, sandbox, [call(script)])).verdict
            assert (verdict.outcome, verdict.reward) == ("fail", 0.0), script


async def test_a_killed_driver_leaves_nothing(
    docker_engine: Engine, base: CachedImage, docker: Docker
) -> None:
    """Containers end by themselves; a layer goes when the next driver comes."""
    await docker.settle()
    before = docker_engine.ask(["ps", "--all", "--quiet", "--no-trunc"]).split()
    for _ in range(count(1, 3)):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", _DRIVER, docker_engine.host],
            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert "ready" in done.stdout, done.stderr
        assert done.returncode == -9
        for _ in range(200):
            if not (
                left := set(docker_engine.ask(["ps", "--all", "--quiet", "--no-trunc"]).split())
                - set(before)
            ):
                break
            await asyncio.sleep(0.1)
        assert left == set()
    assert "envmill/layer" in docker_engine.ask(["images"])
    await (await Docker.open(docker_engine.host)).close()
    assert "envmill/layer" not in docker_engine.ask(["images"])


_DRIVER = """
import asyncio, os, signal, sys
from envmill.sandbox.containers import find_base
from envmill.sandbox.containers.docker import Docker
from envmill.base.settings import Settings

async def main():
    engine = await Docker.open(sys.argv[1])
    container = await engine.up(find_base(Settings.read(os.environ).images))
    await container.shell("sleep 1000 & setsid sleep 1000 &")
    await container.snapshot()
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_copy_begins_with_the_files_and_a_judge_is_looked_into_by_nobody(
    container: Container,
) -> None:
    await container.run(["/bin/sh", "-c", "echo 1 >/srv/kept; echo 1 >/tmp/gone"])
    copy = await container.copy(["/tmp"])
    assert (await copy.run(["/bin/sh", "-c", "echo /srv/* /tmp/*"])).text == "/srv/kept /tmp/*\n"
    await copy.down()
    for judges in (False, True):
        await container.shell(
            "(sleep 0.5; for each in /proc/[0-9]*/fd/0; do cat $each; done >/srv/seen "
            "2>/dev/null) </dev/null &"
        )
        await container.run(
            ["/usr/bin/python3", "-I", "-c", "import time; time.sleep(1.5)"],
            given=b"secret",
            judges=judges,
        )
        seen = (await container.get("/srv/seen")).content
        assert (b"secret" in (seen or b"")) is not judges


async def test_a_sealed_copy_is_written_to_where_it_works_alone(
    docker: Docker, container: Container
) -> None:
    await container.run(
        [
            "/bin/sh",
            "-c",
            "echo 1 >/srv/kept; mkdir /home/shut; chown nobody /home/shut; chmod 700 /home/shut; "
            "mkfifo /srv/pipe",
        ]
    )
    copy = await container.copy()
    await copy.run(["/bin/sh", "-c", "mkdir /etc/own; echo 1 >/etc/own/kept; ln -s /usr /etc/link"])
    await copy.seal(["/etc/own", "/etc/link", "/etc/none"])
    try:
        assert (await copy.shell(WRITES)).text.split() == [
            "/etc/own/a",
            "/var/a",
            "/srv/a",
            "/root/a",
        ]
        assert (
            await copy.shell(f"({UNDONE}) 2>/dev/null; ls -d /nonexistent /other /x 2>/dev/null")
        ).text == ""
        told = (
            await copy.shell("stat -c '%F %U %a' /srv/kept /srv/pipe /home/shut /etc/own/kept /tmp")
        ).text
        assert (
            told == "regular file root 644\nfifo root 644\ndirectory nobody 700\nregular file root "
            "644\ndirectory root 1777\n"
        )
    finally:
        await copy.down()
    assert docker.client.volumes()["Volumes"] in (None, [])


@pytest.mark.parametrize(
    "name",
    [
        "a service replaces the interpreter",
        "a service preloads a library",
        "what nobody compares: /home",
    ],
)
async def test_a_forger_is_not_paid_in_docker_either(
    docker: Docker, base: CachedImage, name: str
) -> None:
    judgement = await try_forger(lambda: lend(docker, base), forgers.FORGERS[name])
    assert judgement.verdict == "fail", judgement
