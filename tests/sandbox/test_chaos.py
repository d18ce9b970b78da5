"""Many sessions of many environments while sessions and drivers are killed at random: the same
results, and nothing left over."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.runtime.jail.templates import KEPT
from envmill.sandbox import Look, Observation, Program, Reset, Sandbox, Step
from tests.sandbox.processes import find_processes, wait_until_gone
from tests.sandbox.programs import CLOCK, COUNTER, RESET, invoke, make_counter
from tests.soak import count

ENVIRONMENTS = count(20, 200)
SESSIONS = count(300, 10_000)
SIDE_BY_SIDE = 16


def make_item(number: int) -> tuple[Program, list[Step]]:
    """The work of one item, the same for the same number."""
    draw = random.Random(number)
    program = make_counter(f"# environment {number % ENVIRONMENTS}\n{COUNTER}")
    calls = [
        invoke("add", name=draw.choice("abc") * draw.randint(0, 3))
        for _ in range(draw.randint(1, 8))
    ]
    return program, [Reset({"items": {}}, CLOCK, number), *calls, Look()]


async def run_item(sandbox: Sandbox, number: int) -> list[Observation]:
    """Until it is done: a broken sandbox is asked again, as a flow does. Every other item goes step
    by step."""
    program, steps = make_item(number)
    while True:
        with contextlib.suppress(SandboxError):
            if number % 2:
                return await sandbox.play(program, steps)
            async with sandbox.session(program) as session:
                return [await session.step(step) for step in steps]


async def run_all(
    sandbox: Sandbox, after: Callable[[], Awaitable[None]]
) -> list[list[Observation]]:
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def run(number: int) -> list[Observation]:
        async with gate:
            seen = await run_item(sandbox, number)
        await after()
        return seen

    return await asyncio.gather(*(run(number) for number in range(SESSIONS)))


async def leave_alone() -> None:
    """Nobody is killed."""


async def count_processes(sandbox: Sandbox) -> list[dict[str, int]]:
    """Asked again where the last kill is met only now."""
    while True:
        with contextlib.suppress(SandboxError):
            return await sandbox.count()


class Killer:
    """Kills a session now and then, and whole drivers: by what was done since, or on a slow machine
    nothing would ever be done."""

    def __init__(self) -> None:
        self.killed = {"driver": 0, "session": 0}
        self._draw = random.Random(int(os.environ.get("ENVMILL_SEED", "0") or "0", 16))
        self._left = 2

    async def strike(self) -> None:
        """An item is done, and others are under way."""
        self._left -= 1
        if self._left:
            return
        self._left = self._draw.randint(1, 18)
        living = sorted(await asyncio.to_thread(find_processes, os.getpid()))
        kind = "driver" if sum(self.killed.values()) % 5 == 2 else "session"
        # Forks are younger than what they were forked from.
        chosen = [
            pid
            for pid in living
            if (_parent(pid) == os.getpid() if kind == "driver" else _depth(pid) == 3)
        ]
        if chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._draw.choice(chosen), signal.SIGKILL)
                self.killed[kind] += 1


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return 0


def _depth(pid: int) -> int:
    """0 is a driver, 1 a zygote, 2 a template, 3 a session."""
    for depth in range(5):
        pid = _parent(pid)
        if pid in (0, os.getpid()):
            return depth
    return -1


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.long
@pytest.mark.soak(area="sandbox")
async def test_random_kills_change_no_result_and_leave_nothing(settings: Settings) -> None:
    async with Sandbox.open(settings) as undisturbed:
        await undisturbed.play(make_counter(), [RESET])
        expected = await run_all(undisturbed, leave_alone)
    assert {seen.outcome for item in expected for seen in item} == {"ok", "rejection"}
    before, killer = _descriptors(), Killer()
    async with Sandbox.open(settings) as sandbox:
        seen = await run_all(sandbox, killer.strike)
        rows = await count_processes(sandbox)
        assert sum(row["sessions"] for row in rows) <= len(rows)
    assert min(killer.killed.values()) > 0, killer.killed
    assert [number for number in range(SESSIONS) if seen[number] != expected[number]] == []
    assert await asyncio.to_thread(wait_until_gone, os.getpid()) == set()
    assert _descriptors() <= before


async def test_a_driver_keeps_no_descriptor_of_what_it_ran(settings: Settings) -> None:
    async with Sandbox.open(settings, drivers=1) as sandbox:
        for number in range(4):
            await run_item(sandbox, number)
        (driver,) = (pid for pid in find_processes(os.getpid()) if _parent(pid) == os.getpid())
        before = len(list(Path(f"/proc/{driver}/fd").iterdir()))
        for number in range(80):
            await run_item(sandbox, number)
        # Of each template a socket and a pid descriptor, of each process kept ready two pipes' ends
        # and a pid descriptor.
        (row,) = await sandbox.count()
        assert (
            len(list(Path(f"/proc/{driver}/fd").iterdir()))
            <= before + 2 * row["templates"] + 3 * row["ready"]
        )


async def test_a_session_that_was_killed_from_outside_goes_on(settings: Settings) -> None:
    async with (
        Sandbox.open(settings, drivers=1) as sandbox,
        sandbox.session(make_counter()) as session,
    ):
        seen = [await session.step(RESET), await session.step(invoke("add", name="a"))]
        # The youngest: a pid namespace has a first process, as deep as the sessions and older.
        os.kill(max(pid for pid in find_processes(os.getpid()) if _depth(pid) == 3), signal.SIGKILL)
        seen.append(await session.step(invoke("add", name="b")))
        assert [one.outcome for one in seen] == ["ok"] * 3
        assert seen == await sandbox.play(
            make_counter(), [RESET, invoke("add", name="a"), invoke("add", name="b")]
        )


async def test_many_programs_share_a_driver(sandbox: Sandbox) -> None:
    for number in range(40):
        (reset,) = await sandbox.play(make_counter(f"# {number}\n{COUNTER}"), [RESET])
        assert reset.outcome == "ok"
    # Driver, zygote, and for each template that is kept, and the one that waits for a program, a
    # process, or two with a pid namespace.
    for _ in range(100):
        if (left := len(find_processes(os.getpid()))) <= 2 * (KEPT + 1) + 2:
            break
        await asyncio.sleep(0.05)
    assert left <= 2 * (KEPT + 1) + 2
    assert (await sandbox.count())[0]["templates"] == KEPT
