"""Measured from the flow process: over asyncio, two hops away, with 64 model calls waiting in the
same loop."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator

from envmill.base.settings import Settings
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call, Tool
from schemas.scenario import Check, Verifier
from tests.bench.plane.sample import CLOCK, PROGRAM, make_rows
from tests.bench.plane.timing import Row, Times, row

MODEL_CALLS = 64
LATENCY = 0.2
LIVE = (1, 8, 64, 256, 1024)
SECONDS = 2.0
STATE = make_rows(8)
RESET = Reset(STATE, CLOCK, 7)
CALL = Invoke(Call(name="find", arguments={"key": "r3"}))
WRITE = Invoke(Call(name="order", arguments={"key": "r3"}))
SHOP = Program(
    PROGRAM["files"], PROGRAM["entry"], [Tool.model_validate(tool) for tool in PROGRAM["tools"]]
)


async def measure() -> list[Row]:
    """All rows of this seat."""
    async with Sandbox.open(Settings.read({})) as sandbox:
        await asyncio.gather(*(sandbox.play(SHOP, [RESET, CALL]) for _ in range(4)))
        rows = [*await _measure_one(sandbox), await _measure_reward(sandbox)]
        async with _wait_for_models():
            return [*rows, *[await _measure_live(sandbox, live) for live in LIVE]]


async def _measure_one(sandbox: Sandbox) -> list[Row]:
    call, plan = Times(), Times()
    async with sandbox.session(SHOP, hashes="none") as session:
        await session.step(RESET)
        for _ in range(2000):
            start = time.perf_counter()
            await session.step(CALL)
            call.taken.append((time.perf_counter() - start) * 1e6)
    steps = [RESET, *[CALL] * 100]
    for _ in range(60):
        start = time.perf_counter()
        await sandbox.play(SHOP, steps, hashes="none")
        plan.taken.append((time.perf_counter() - start) * 1e6)
    return [
        row(
            "flow_call",
            f"one call asked over asyncio from the flow process, p50; p99 {call.p99:.0f} µs",
            call.p50,
        ),
        row(
            "flow_reset_100",
            f"reset and 100 calls asked over asyncio, p50; p99 {plan.p99:.0f} µs",
            plan.p50,
        ),
    ]


async def _measure_reward(sandbox: Sandbox) -> Row:
    """Play, look, judge: what a reward of a finished episode costs."""
    goal = Check(
        name="ordered", op="equals", path=["rows", "r3", "at"], value="2026-03-01T09:00:00+00:00"
    )
    verifier = Verifier(goals=[goal], guards=[], frame=[["rows", "r3", "at"]], partial=False)
    taken = Times()
    for _ in range(60):
        start = time.perf_counter()
        *_, end = await sandbox.play(SHOP, [RESET, *[CALL] * 19, WRITE, Look()], hashes="none")
        assert judge(verifier, Ending(STATE, end.state)).reward == 1.0
        taken.taken.append((time.perf_counter() - start) * 1e6)
    return row(
        "reward",
        f"reward of a 20-call episode, from its calls to the verdict, p50; p99 {taken.p99:.0f} µs",
        taken.p50,
    )


@contextlib.asynccontextmanager
async def _wait_for_models() -> AsyncGenerator[None]:
    async def wait() -> None:
        while True:
            await asyncio.sleep(LATENCY)

    waiting = [asyncio.create_task(wait()) for _ in range(MODEL_CALLS)]
    yield
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def _measure_live(sandbox: Sandbox, live: int) -> Row:
    """Calls a second of so many sessions, each asking as fast as it is answered."""
    done = 0
    async with contextlib.AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(sandbox.session(SHOP, hashes="none"))
            for _ in range(live)
        ]
        await asyncio.gather(*(session.step(RESET) for session in sessions))
        end = time.perf_counter() + SECONDS

        async def ask(number: int) -> None:
            nonlocal done
            while time.perf_counter() < end:
                await sessions[number].step(CALL)
                done += 1

        start = time.perf_counter()
        await asyncio.gather(*map(ask, range(live)))
        rate = done / (time.perf_counter() - start)
    return row(
        f"live_{live}",
        f"calls a second of {live} live sessions, {MODEL_CALLS} model calls waiting in the same "
        "loop",
        rate,
        unit="/s",
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(measure())))
