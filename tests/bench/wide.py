"""Wide interfaces: what the tools that agents are shown cost at 20, 60 and 150; `python -m
tests.bench.wide` prints curves.

environment ─► tools of siblings beside its own ─► characters of the interface · first session · session · call · verdict
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from envmill.agents.transcript import list_tools
from envmill.base.settings import Settings
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.toolgraph.siblings import show_siblings
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.base import canonical_json
from schemas.environment import Call, Environment
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.trust.costs import read_children
from tests.trust.posing import Spot, find_clean, make_environment

VISIBLE = (20, 60, 150)
THEME = "tool_lending"
ROUNDS, SESSIONS, CALLS = 5, 100, 20_000
"""Rounds that a median is taken of; sessions of a round, and calls: the jail's processor time comes
in steps of 10 ms."""


@dataclass(frozen=True)
class WideCost:
    """Of one environment that shows so many tools."""

    visible: int
    characters: int
    """Of the interface that a policy is shown."""
    first: float
    """The first session, with the program's template, in ms by the clock."""
    session: float
    """A session that does nothing, in ms of processor time here and in the jail."""
    call: float
    """A call that reads, in µs of the same."""
    verdict: float
    """The verdict on the reference path's end, in ms of the same."""


def measure_wide() -> Iterator[dict[str, Any]]:
    """A call where 150 tools are shown, beside one where 20 are."""
    few, *_, many = asyncio.run(measure_costs())
    what = f"a call with {many.visible} tools shown, beside {few.visible}"
    yield {
        "id": "wide_call",
        "what": what,
        "measured": many.call,
        "baseline": few.call,
        "unit": "µs",
    }


async def measure_costs() -> list[WideCost]:
    """Rounds in turn, so that what else the machine does falls on all alike."""
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        scenario = await find_clean(Spot(THEME, 0, 0), sandbox)
        assert isinstance(scenario, Scenario)
        environments = [
            show_siblings(make_environment(THEME, 0), RunConfig(visible=visible))
            for visible in VISIBLE
        ]
        firsts = [await _time_first(one, scenario, sandbox) for one in environments]
        spent = [
            [await _measure(one, scenario, sandbox) for one in environments] for _ in range(ROUNDS)
        ]
    costs = [
        [median(column) for column in zip(*rounds, strict=True)]
        for rounds in zip(*spent, strict=True)
    ]
    sizes = [len(canonical_json(list_tools(one))) for one in environments]
    return [
        WideCost(wide, size, first, *cost)
        for wide, size, first, cost in zip(VISIBLE, sizes, firsts, costs, strict=True)
    ]


async def _time_first(environment: Environment, scenario: Scenario, sandbox: Sandbox) -> float:
    began = time.perf_counter()
    await sandbox.play(Program.shown(environment), [start(scenario)])
    return (time.perf_counter() - began) * 1e3


async def _measure(
    environment: Environment, scenario: Scenario, sandbox: Sandbox
) -> tuple[float, float, float]:
    """A session, a call and a verdict."""
    program, reset, read = Program.shown(environment), start(scenario), _find_read(environment)
    began = count_spent()
    for _ in range(SESSIONS):
        await sandbox.play(program, [reset], hashes="none")
    sessions, began = count_spent() - began, count_spent()
    seen = await sandbox.play(program, [reset, *[Invoke(read)] * CALLS], hashes="none")
    calls = count_spent() - began
    assert seen[-1].outcome == "ok", seen[-1]
    end = (await sandbox.play(program, [reset, *map(Invoke, scenario.oracle), Look()]))[-1].state
    ending, began = Ending(scenario.initial_state, end, (), [scenario.say]), count_spent()
    for _ in range(SESSIONS):
        assert (await decide(sandbox, scenario.verifier, ending, scenario.clock)).reward == 1.0
    verdicts = count_spent() - began
    return sessions * 1e3 / SESSIONS, calls * 1e6 / CALLS, verdicts * 1e3 / SESSIONS


def _find_read(environment: Environment) -> Call:
    """A look-up of the environment's own that takes nothing."""
    return Call(
        name=next(
            tool.name
            for tool in environment.tools
            if tool.effect == "query" and not tool.parameters.get("required")
        )
    )


def count_spent() -> float:
    """Processor seconds, the jail's included."""
    return time.process_time() + read_children()


def main() -> None:
    """One line of JSON for each number of tools."""
    for cost in asyncio.run(measure_costs()):
        sys.stdout.write(
            json.dumps({name: round(value, 3) for name, value in vars(cost).items()}) + "\n"
        )


if __name__ == "__main__":
    main()
