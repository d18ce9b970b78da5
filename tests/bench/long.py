"""Long reference paths: what replay and verdict, and each gate, take at 30, 60 and 120 calls;
`python -m tests.bench.long` prints curves.

embedded author ─► scenario of N calls ─► played and judged in the jail ─► processor time, here and there; gate by gate
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from statistics import median
from typing import Any

import offline as author
from envmill.base.settings import Settings
from envmill.gates import SCENARIO_GATES
from envmill.gates.base import GateContext, ScenarioCase
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.prompts import ScenarioReply
from schemas.scenario import Scenario
from tests.bench.wide import measure_wide
from tests.offline.questions import SEED
from tests.trust.costs import read_children
from tests.trust.posing import Spot, build, make_environment

CALLS = (30, 60, 120)
THEME = "tool_lending"
TIMES, TURNS = 5, 20
"""Measurements that a median is taken of, and replays in each: the jail's processor time comes in
steps of 10 ms."""


def rows() -> Iterator[dict[str, Any]]:
    """Replay and verdict of a path four times as long, beside the short one."""
    spent = {len(posed.scenario.oracle): took for posed, took in asyncio.run(_replay_all())}
    (short, first), (middle, second), (long, third) = sorted(spent.items())
    per_call = f"{first:.1f} ms at {short} calls, {second:.1f} at {middle}, {third:.1f} at {long}"
    # Paths are as long as asked for, or a call or two longer: the ratio is that of equal lengths.
    fair = third * (CALLS[2] / long), first * (CALLS[0] / short)
    what = f"replay and verdict of 120 calls, beside 30: {per_call}"
    yield {"id": "replay", "what": what, "measured": fair[0], "baseline": fair[1], "unit": "ms"}
    yield from measure_wide()


async def _replay_all() -> list[tuple[ScenarioCase, float]]:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        posed = [await pose_long(calls, sandbox) for calls in CALLS]
        return [
            (one, median([await _spend_replays(one, sandbox) for _ in range(TIMES)]))
            for one in posed
        ]


async def _spend_replays(posed: ScenarioCase, sandbox: Sandbox) -> float:
    """Of one replay."""

    async def turn() -> None:
        for _ in range(TURNS):
            await replay(posed, sandbox)

    return await _spend(turn) / TURNS


async def pose_long(calls: int, sandbox: Sandbox) -> ScenarioCase:
    """A scenario of so many calls by the embedded author, built as the line does it."""
    spot = Spot(THEME, 0, 0)
    asked = spot.ask()
    asked["brief"]["calls"] = calls
    reply = ScenarioReply.model_validate_json(author.answer("scenario", asked, SEED, 0, 0.0))
    built = await build(spot, reply, sandbox, rehearse=False)
    assert isinstance(built, Scenario), built
    return ScenarioCase(built, make_environment(THEME, 0))


async def replay(posed: ScenarioCase, sandbox: Sandbox) -> None:
    """The reference path in a process of its own, and the verdict on its end. The state is hashed
    once, as where gates replay a path: a
    hash after each call costs as much as the state is large."""
    scenario = posed.scenario
    seen = await sandbox.play(
        Program.of(posed.environment),
        [start(scenario), *map(Invoke, scenario.oracle), Look()],
        hashes="last",
        fresh=True,
    )
    ending = Ending(scenario.initial_state, seen[-1].state, (), [scenario.say])
    assert (await decide(sandbox, scenario.verifier, ending, scenario.clock)).reward == 1.0


async def _spend(act: Callable[[], Awaitable[object]]) -> float:
    """Processor time in ms, the jail's included."""
    began = time.process_time() + read_children()
    await act()
    return (time.process_time() + read_children() - began) * 1e3


async def measure_gates(calls: int) -> dict[str, Any]:
    """Processor time of each gate on a scenario of so many calls, in ms, and what it said."""
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        posed = await pose_long(calls, sandbox)
        await replay(posed, sandbox)
        found: dict[str, Any] = {
            "calls": len(posed.scenario.oracle),
            "replay": await _spend_replays(posed, sandbox),
        }
        for gate in SCENARIO_GATES:
            said: list[str] = []

            async def ask(gate: Any = gate, said: list[str] = said) -> None:
                finding = await gate.check(posed, GateContext(sandbox, episodes=100))
                said.append(f"{finding.outcome} {finding.reason}".strip())

            found[gate.name] = (await _spend(ask), said[0])
    return found


def main() -> None:
    """One line of JSON for each length."""
    for calls in CALLS:
        sys.stdout.write(json.dumps(asyncio.run(measure_gates(calls))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
