"""Where the decisive questions are asked: in a copy that is shut, empty of what passes, and in which nothing of the agent's runs."""

import pytest

from envmill.drafting.breaking.systems import load_system
from envmill.sandbox.machines.machine import Containers, set_up
from envmill.sandbox.machines.trust import examine, take_ground, take_reference
from tests.drafting.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

DID = (
    "for each in /tmp /var/tmp /run /dev/shm /root /home; do echo 1 >$each/mark; done; echo 4 >/run/own.pid; "
    "setsid -f sleep 1234 >/dev/null 2>&1 </dev/null"
)
CHECK = """
from pathlib import Path

from probing import probe, report, run, want


@probe
def writable(v):
    (options,) = [line.split()[3] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == "/"]
    want("rw" in options.split(","), "shut")


@probe
def there(v):
    gone = [each for each in ("/tmp", "/var/tmp", "/run", "/dev/shm", "/root", "/home") if not Path(each, "mark").exists()]
    want(not gone, " ".join(gone))


@probe
def running(v):
    want(run("pgrep", "-f", "sleep 1234")[0] == 0, "nothing runs")


@probe
def kept(v):
    want(Path("/run/own.pid").read_text() == "4\\n", "another")


@probe
def homeless(v):
    want(run("/bin/sh", "-c", "echo $HOME")[1] == "/nonexistent\\n" and not Path("/nonexistent").exists(), "at home")


report()
"""


async def test_the_last_questions_are_asked_elsewhere(containers: Containers) -> None:
    healthy = load_system("share")._replace(check=CHECK)
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        reference = await take_reference(container, healthy, ground)
        await container.run(["/bin/bash", "-c", DID])
        found = await examine(container, healthy, ["/run/own.pid"], reference)
        assert set(found.left.values()) == {""}, found
        wrong = {probe: words for probe, words in found.lasting.items() if words}
        assert wrong == {"writable": "shut", "there": "/tmp /var/tmp /run /dev/shm /root", "running": "nothing runs"}
        assert (await container.run(["/usr/bin/pgrep", "-f", "sleep 1234"])).code == 0
        assert (await container.get("/tmp/mark")).content == b"1\n"
