"""Dialogues: composing a scenario with its proof, a long scripted conversation, and its verdict."""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from envmill.agents.limits import RolloutLimits
from envmill.agents.rescore import read_ending
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.kinds import open_sandbox
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from envmill.verifiers.judge import judge
from tests.kinds.dialogue.actors import AskThenAct
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import SCENARIOS, compose

TIMES = 20
LONG = RolloutLimits(steps=90, turns=60)
_TAU2 = 25.0
"""Milliseconds of τ²-bench's composer for a task, measured on two cores."""


def rows() -> Iterator[dict[str, Any]]:
    yield from asyncio.run(_measure())


async def _measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as home:
        async with open_sandbox(Settings.read({**os.environ, "ENVMILL_HOME": home})) as sandbox:
            return [await _measure_proof(sandbox), *await _measure_conversation(sandbox)]


async def _measure_proof(sandbox: Sandbox) -> dict[str, Any]:
    environment, titles = load().environment, sorted(SCENARIOS)

    async def prove(turn: int) -> None:
        draft = compose(environment, titles[turn % len(titles)], turn)
        await finish(await prepare(draft, environment, sandbox), "binary", sandbox)

    took = await _time(prove)
    return _row(
        "prove", "a scenario composed of faults, played twice and its verifier proved", took
    ) | {"baseline": _TAU2}


async def _measure_conversation(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Twenty turns and more; the share of each turn is what a limit on twenty turns is held to."""
    found = load()
    scenario = found.scenarios[sorted(SCENARIOS).index("many")]
    policy: Any = AskThenAct()
    setup = RolloutSetup.of(scenario, found.environment, None)
    made = await play_on(setup, policy, sandbox, "bench", 0, form="conversation", limits=LONG)
    turns = sum(entry["role"] == "assistant" for entry in made.transcript)

    async def converse(turn: int) -> None:
        await play_on(setup, policy, sandbox, "bench", turn, form="conversation", limits=LONG)

    took = await _time(converse)
    ending = await read_ending(made, scenario, found.environment, sandbox)

    async def decide(_: int) -> None:
        judge(scenario.verifier, ending)

    return [
        _row(
            "conversation",
            f"20 turns of a scripted conversation, of one with {turns}",
            took * 20 / turns,
        ),
        _row(
            "verdict",
            f"the verdict on {turns} turns with {len(ending.deeds)} calls",
            await _time(decide),
        ),
    ]


def _row(name: str, what: str, measured: float) -> dict[str, Any]:
    return {"id": name, "what": what, "measured": measured, "unit": "ms"}


async def _time(act: Callable[[int], Awaitable[None]]) -> float:
    """Median in milliseconds."""
    took = list[float]()
    for turn in range(TIMES):
        began = time.perf_counter()
        await act(turn)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)
