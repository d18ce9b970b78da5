"""A lease is held by one, waited for without blocking, and freed when its holder is killed."""

import asyncio
import subprocess
import sys
from pathlib import Path

from envmill.lake.lease import hold

_HOLDER = """
import asyncio, sys
from pathlib import Path
from envmill.lake.lease import hold

async def main():
    async with hold(Path(sys.argv[1])):
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_two_holders_take_turns(tmp_path: Path) -> None:
    inside = most = 0

    async def enter() -> None:
        nonlocal inside, most
        async with hold(tmp_path / "lease"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.02)
            inside -= 1

    await asyncio.gather(*(enter() for _ in range(4)))
    assert most == 1


async def test_a_killed_holder_frees_its_lease(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "lease")], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    waiting = asyncio.create_task(_enter(tmp_path / "lease"))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    await asyncio.wait_for(waiting, 5)


async def _enter(path: Path) -> None:
    async with hold(path):
        return
