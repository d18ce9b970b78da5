"""What the gates of an environment, and those of a scenario, cost in processor time, here and in
the jail together.

python -m tests.trust.costs
"""

import asyncio
import sys
import time
from statistics import median

from envmill.base.settings import Settings
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, GateContext, ScenarioCase
from envmill.sandbox import Sandbox
from tests.trust.confusion import UNASKED, build_sized
from tests.trust.posing import ANYTHING, pose_at
from tests.trust.scenarios import pick, read_children

TOOLS = 20
EACH = 6
"""Scenarios of a polarity."""
THEMES = ("hotel_booking", "tool_lending", "dental_laboratory")


def measure_environment_gates() -> tuple[float, float]:
    """Medians over environments of twenty tools, in ms: all gates that want no model, and of that,
    what the jail took."""
    return asyncio.run(_measure())


async def _measure() -> tuple[float, float]:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        warm, *timed = [build_sized(theme, TOOLS) for theme in ("energy_meters", *THEMES)]
        await _spend(
            warm, sandbox
        )  # the drivers' own start is paid once a run, not once an environment
        spent = [await _spend(built, sandbox) for built in timed]
    return median(here + there for here, there in spent), median(there for _, there in spent)


def measure_scenario_gates() -> tuple[float, float]:
    """Means over clean scenarios of every polarity, in ms: all gates but the search, and of that,
    what the jail took."""
    return asyncio.run(_measure_scenarios())


async def _measure_scenarios() -> tuple[float, float]:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        posed = [
            await pose_at(spot, "", sandbox)
            for polarity in ANYTHING
            for spot in pick(EACH, 3, polarity)
        ]
    found = [one for one in posed if isinstance(one, ScenarioCase)]
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        await _pass(
            found[0], GateContext(sandbox, seed=1)
        )  # both jails' own start is paid once a run
        here, there = time.process_time(), read_children()
        for one in found:
            await _pass(one, GateContext(sandbox))
        here, there = time.process_time() - here, read_children() - there
    return (here + there) * 1e3 / len(found), there * 1e3 / len(found)


async def _pass(posed: ScenarioCase, means: GateContext) -> None:
    for gate in SCENARIO_GATES:
        if gate.name != "S13":
            await gate.check(posed, means)


async def _spend(built: EnvironmentCase, sandbox: Sandbox) -> tuple[float, float]:
    here, there = time.process_time(), read_children()
    for gate in ENVIRONMENT_GATES:
        if gate.name not in UNASKED:
            await gate.check(built, GateContext(sandbox))
    return (time.process_time() - here) * 1e3, (read_children() - there) * 1e3


if __name__ == "__main__":
    total, jail = measure_environment_gates()
    sys.stdout.write(f"{total:.0f} ms for {TOOLS} tools, {jail:.0f} ms of them in the jail\n")
    total, jail = measure_scenario_gates()
    sys.stdout.write(f"{total:.0f} ms for a scenario, {jail:.0f} ms of them in the jail\n")
