"""What the gates of an environment cost in processor time, here and in the jail together: `python -m tests.trust.costs`."""

import asyncio
import sys
import time
from statistics import median

from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import Built, Means
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from tests.trust.confusion import UNASKED, build_sized
from tests.trust.scenarios import read_children

TOOLS = 20
THEMES = ("hotel_booking", "tool_lending", "dental_laboratory")


def measure_environment_gates() -> tuple[float, float]:
    """Medians over environments of twenty tools, in ms: all gates that want no model, and of that, what the jail took."""
    return asyncio.run(_measure())


async def _measure() -> tuple[float, float]:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        warm, *timed = [build_sized(theme, TOOLS) for theme in ("energy_meters", *THEMES)]
        await _spend(warm, sandbox)  # the drivers' own start is paid once a run, not once an environment
        spent = [await _spend(built, sandbox) for built in timed]
    return median(here + there for here, there in spent), median(there for _, there in spent)


async def _spend(built: Built, sandbox: Sandbox) -> tuple[float, float]:
    here, there = time.process_time(), read_children()
    for gate in ENVIRONMENT_GATES:
        if gate.name not in UNASKED:
            await gate.look(built, Means(sandbox))
    return (time.process_time() - here) * 1e3, (read_children() - there) * 1e3


if __name__ == "__main__":
    total, jail = measure_environment_gates()
    sys.stdout.write(f"{total:.0f} ms for {TOOLS} tools, {jail:.0f} ms of them in the jail\n")
