"""What a health check is and expects is read by no process of the agent, neither while it is asked
nor afterwards."""

import asyncio

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import examine, take_ground, take_reference
from envmill.sandbox.machines.machine import CLEAN, Containers, check_health, set_up
from tests.kinds.terminal.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEEDLE = "the-word-that-nobody-may-read"
READER = """
import glob, os
needle = bytes.fromhex("NEEDLE")
while True:
    for path in glob.glob("/run/judge-*/*") + glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/[ce]*"):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            if "/%d/" % os.getpid() not in path and needle in os.read(file, 1 << 22):
                open("/root/loot", "a").write(path + chr(10))
            os.close(file)
        except OSError:
            pass
    for maps in glob.glob("/proc/[0-9]*/maps"):
        try:
            areas = [line.split()[0].split("-") for line in open(maps) if " rw" in line and "/%d/" % os.getpid() not in maps]
            memory = os.open(maps.replace("maps", "mem"), os.O_RDONLY)
            for first, last in areas:
                if needle in os.pread(memory, int(last, 16) - int(first, 16), int(first, 16)):
                    open("/root/loot", "a").write(maps + chr(10))
            os.close(memory)
        except (OSError, ValueError, OverflowError):
            pass
""".replace("NEEDLE", NEEDLE.encode().hex())
WAITER = "import sys, time; given = sys.stdin.read(); time.sleep(1.5)"
CURIOUS = f"""
import subprocess
from probing import probe, report, want


@probe
def secret(v):
    commands = ("cat", "cat /proc/$PPID/fd/* | head -c 9")
    told = [subprocess.run(["/bin/sh", "-c", each], capture_output=True).stdout for each in commands]
    want(told == [b"", b""], str(told))


report()  # {NEEDLE}
"""


async def _read_along(container: Container) -> None:
    await container.put("/root/reader.py", READER.encode())
    await container.run(
        [
            "/usr/bin/setsid",
            "-f",
            "/bin/sh",
            "-c",
            "exec python3 /root/reader.py >/dev/null 2>&1 </dev/null",
        ]
    )


async def _list_loot(container: Container) -> str:
    return ((await container.get("/root/loot")).content or b"").decode()


@pytest.mark.parametrize("judges", [False, True])
async def test_nobody_looks_into_a_process_that_judges(
    containers: Containers, judges: bool
) -> None:
    async with containers() as container:
        await _read_along(container)
        words = ["/usr/bin/python3", "-I", "-S", "-c", WAITER]
        await container.run(words, given=NEEDLE.encode(), environment=CLEAN, judges=judges)
        loot = await _list_loot(container)
        assert ("/fd/0" in loot, "/maps" in loot) == (not judges, not judges)


@pytest.mark.long
async def test_a_whole_examination_tells_nobody_what_it_asks(containers: Containers) -> None:
    healthy = load_system("share")
    healthy = healthy._replace(
        check=f"{healthy.check}\n# {NEEDLE}\n", values={**healthy.values, "spare": NEEDLE}
    )
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        reference = await take_reference(container, healthy, ground)
        await _read_along(container)
        await asyncio.sleep(0.3)
        found = await examine(container, healthy, [], reference)
        assert set(found.lasting.values()) == set(found.left.values()) == {""}
        assert await _list_loot(container) == ""


async def test_what_a_check_starts_is_given_nothing_of_it(containers: Containers) -> None:
    async with containers() as container:
        assert await check_health(container, load_system("share")._replace(check=CURIOUS)) == {
            "secret": ""
        }


PRELOADED = r"""
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void note(void) {
    static char text[65536];
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    for (ssize_t i = 0; i + 10 < size; i++)
        if (!memcmp(text + i, "given.json", 10)) close(open("/root/loot", O_CREAT | O_WRONLY, 0600));
}
"""
FLICKER = (
    "while :; do echo /root/note.so >/etc/ld.so.preload; sleep 0.02; rm /etc/ld.so.preload; "
    "sleep 0.02; done"
)


@pytest.mark.long
@pytest.mark.parametrize("holds", [True, False])
async def test_a_library_that_is_there_for_a_moment_is_not_loaded(
    containers: Containers, holds: bool
) -> None:
    """Where nothing is held it is, so that it would see all that the check is given."""
    healthy = load_system("share")
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        reference = await take_reference(container, healthy, ground)
        await container.put("/root/note.c", PRELOADED.encode())
        await container.run(
            ["/usr/bin/gcc", "-shared", "-fPIC", "-o", "/root/note.so", "/root/note.c"]
        )
        await container.run(
            [
                "/usr/bin/setsid",
                "-f",
                "/bin/bash",
                "-c",
                f"{{ {FLICKER}; }} >/dev/null 2>&1 </dev/null",
            ]
        )
        for _ in range(8):
            if holds:
                await examine(container, healthy, [], reference)
            else:
                await check_health(container, healthy, reference.library)
        assert ((await container.get("/root/loot")).content is None) is holds
