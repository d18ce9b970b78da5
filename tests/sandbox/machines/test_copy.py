"""Where the decisive questions are asked: in a copy that is shut, in which nothing of the agent's
runs or lies uncompared."""

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import Examination, examine, take_ground, take_reference
from envmill.sandbox.machines.frame import list_frame
from envmill.sandbox.machines.healthy import Healthy
from envmill.sandbox.machines.machine import Containers, set_up
from tests.kinds.terminal.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNSEEN = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/root", "/home", "/srv/work")
LOST = (*(f"{each}/mark" for each in UNSEEN), "/srv/work/d/px")
BEGIN = (
    "mkdir -m 750 /srv/work; chown bo:survey /srv/work; echo first >/srv/work/kept; echo old "
    ">/srv/work/place; mkdir /srv/work/d; :"
)
DID = (
    f"for each in {' '.join(UNSEEN)}; do echo 1 >$each/mark; done; echo 4 >/run/own.pid; echo 5 "
    ">/srv/work/place; "
    "echo 6 >'/srv/work/d/p*'; echo 6 >/srv/work/d/px; echo x >/srv/work/kept; chmod 777 "
    "/srv/work; "
    "setsid -f sleep 1234 >/dev/null 2>&1 </dev/null"
)
PLACES = ["/run/own.pid", "/srv/work/place", "/srv/work/d/p*"]
CHECK = f"""
from pathlib import Path

from probing import probe, read, report, run, want


@probe
def writable(v):
    (options,) = [line.split()[3] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == "/"]
    want("rw" in options.split(","), "shut")


@probe
def there(v):
    gone = [each for each in {LOST} if not Path(each).exists()]
    want(not gone, " ".join(gone))


@probe
def running(v):
    want(run("pgrep", "-f", "sleep 1234")[0] == 0, "nothing runs")


@probe
def kept(v):
    want(read("/run/own.pid") + read("/srv/work/place") + read("/srv/work/d/p*") == "4\\n5\\n6\\n", "another")


@probe
def returned(v):
    want(read("/srv/work/kept") == "x\\n", read("/srv/work/kept") + run("stat", "-c", "%a %U:%G", "/srv/work")[1])


@probe
def homeless(v):
    want(run("/bin/sh", "-c", "echo $HOME")[1] == "/nonexistent\\n" and not Path("/nonexistent").exists(), "at home")


report()
"""
SHARE = load_system("share")
WORKING = SHARE._replace(
    check=CHECK, system=SHARE.system.model_copy(update={"volatile": ["/srv/work"]})
)


async def _try(
    containers: Containers, healthy: Healthy, places: list[str], begin: str, did: str
) -> tuple[Examination, str]:
    """What was found, and what lies in /tmp/mark of the agent's own machine afterwards."""
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        await _run(container, begin)
        reference = await take_reference(container, healthy, ground)
        await _run(container, did)
        found = await examine(container, healthy, places, reference)
        return found, (
            await container.run(["/bin/sh", "-c", "cat /tmp/mark /srv/work/mark; pgrep -c sleep"])
        ).text


async def _run(container: Container, script: str) -> None:
    ran = await container.run(["/bin/bash", "-c", script])
    assert ran.code == 0, ran.text


async def test_the_last_questions_are_asked_elsewhere(containers: Containers) -> None:
    found, left = await _try(containers, WORKING, PLACES, BEGIN, DID)
    assert set(found.left.values()) == {""}, found
    assert {probe: words for probe, words in found.lasting.items() if words} == {
        "writable": "shut",
        "there": " ".join(LOST),
        "running": "nothing runs",
        "returned": "first\n750 bo:survey\n",
    }
    assert left == "1\n1\n1\n"


QUIET = "from probing import probe, report\n\n\n@probe\ndef well(v):\n    pass\n\n\nreport()\n"
HOMES: dict[str, tuple[str, bool]] = {
    "a file of the system's": ("echo more >>/home/me/books", True),
    "rights of a folder of the system's": ("chmod 777 /home/me", True),
    "notes, history, caches, a cloned folder": (
        "cd /home/me; echo 1 >notes; echo ls >.bash_history; mkdir -p .cache/x .git; "
"touch .books.swp; cp -r /srv/survey clone", False,
    ),
    "somebody else's home": ("mkdir -p /home/you/x; echo 1 >/home/you/x/y", False),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", HOMES)
async def test_in_a_home_the_systems_own_files_are_compared(
    containers: Containers, name: str
) -> None:
    did, seen = HOMES[name]
    system = SHARE.system.model_copy(
        update={"directories": [*SHARE.system.directories, "/home/me"]}
    )
    healthy = SHARE._replace(
        check=QUIET, system=system, files={**SHARE.files, "/home/me/books": b"books\n"}
    )
    found, _ = await _try(containers, healthy, [], ":", did)
    assert bool(found.outside) is seen
    assert found.lasting == ({} if seen else {"well": ""})


async def test_a_restored_machine_returns_to_its_beginning_too(containers: Containers) -> None:
    """Its lower layers hold what an agent had written when the snapshot was made."""
    async with containers() as container:
        await set_up(container, WORKING)
        await _run(container, BEGIN)
        reference = await take_reference(container, WORKING)
        await _run(
            container,
            "for each in /home /root /srv/work; do echo 1 >$each/mark; done; echo x "
            ">/srv/work/kept",
        )
        await container.reset(await container.snapshot())
        await _run(container, DID)
        found = await examine(
            container,
            WORKING,
            PLACES,
            reference._replace(frame=await list_frame(container, WORKING)),
        )
    assert found.lasting["there"] == " ".join(LOST)
    assert found.lasting["returned"].startswith("first")
