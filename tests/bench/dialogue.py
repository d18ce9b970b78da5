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
from envmill.base.settings import Settings
from envmill.kinds import KINDS, open_sandbox
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Program, Reset, Sandbox
from envmill.verifiers.judge import judge
from tests.bench.wide import count_spent
from tests.kinds.dialogue.actors import AskThenAct
from tests.recipes.test_tau2 import make_desk
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import SCENARIOS, compose

TIMES = 20
LONG = RolloutLimits(steps=90, turns=60)
LARGE = 2_000
"""Records of the large state."""
_TAU2 = 25.0
"""Milliseconds of τ²-bench's composer for a task, measured on two cores."""


def rows() -> Iterator[dict[str, Any]]:
    yield from asyncio.run(_measure())


async def _measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as home:
        async with open_sandbox(Settings.read({**os.environ, "ENVMILL_HOME": home})) as sandbox:
            return [
                await _measure_proof(sandbox),
                *await _measure_conversation(sandbox),
                await _measure_composing(sandbox),
                await _measure_reset(sandbox),
            ]


async def _measure_proof(sandbox: Sandbox) -> dict[str, Any]:
    environment, titles = load().environment, sorted(SCENARIOS)

    async def prove(turn: int) -> None:
        draft = compose(environment, titles[turn % len(titles)], turn)
        await finish(await prepare(draft, environment, sandbox), "binary", sandbox)

    took = await _time(prove)
    return _row(
        "prove", "a scenario composed of faults, played twice and its verifier proved", took
    ) | {"baseline": _TAU2}


async def _measure_composing(sandbox: Sandbox) -> dict[str, Any]:
    """Selected, proved by every claim, played twice, its verifier made and its path judged. Of both
    processes, the sandbox's included: nobody else's work counts."""
    environment, kind = await make_desk(), KINDS["dialogue"]

    async def compose_one(turn: int) -> None:
        made = await kind.compose_scenario(environment, turn, 7, 0, sandbox)
        assert made is not None

    await compose_one(0)
    took = await _time(compose_one, count_spent)
    return _row("compose", "a scenario of the recipe composed of atoms and proved", took)


async def _measure_reset(sandbox: Sandbox) -> dict[str, Any]:
    """The same session begun again, over many records and over few."""
    environment = load().environment
    state = load().scenarios[0].initial_state
    row = next(iter(state["merchants"].values()))
    large = dict(
        state, merchants={f"M{place}": row | {"id": f"M{place}"} for place in range(LARGE)}
    )

    async def begin(state: dict[str, Any]) -> float:
        async def act(_: int) -> None:
            reset = Reset(state=state, clock=CLOCK, seed=0)
            await sandbox.play(Program.shown(environment), [reset], hashes="none")

        return await _time(act)

    small_took, large_took = await begin(state), await begin(large)
    return {
        "id": "reset",
        "what": f"a session begun over {LARGE} records, of one over {len(state['merchants'])}",
        "measured": large_took / small_took,
        "unit": "times",
    }


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


async def _time(
    act: Callable[[int], Awaitable[None]], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median in milliseconds."""
    took = list[float]()
    for turn in range(TIMES):
        began = clock()
        await act(turn)
        took.append((clock() - began) * 1000)
    return statistics.median(took)
