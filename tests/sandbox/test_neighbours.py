"""What one program does to its driver and to the other sessions of that driver."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from envmill.base.settings import Settings
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from schemas.environment import Call
from tests.hostile.corpus.base import Attack
from tests.sandbox.processes import find_processes
from tests.sandbox.programs import CLOCK, RESET, invoke, make_counter, make_program
from tests.soak import count

ALLOWED = 700 * 1024 * 1024
"""Bytes a driver may come to hold, whatever one program sends. Before there was a bound it was 2.6
GB."""
FLOOD = """
signal.setitimer(signal.ITIMER_REAL, 0)
head = b'{"seq":%d,"done":true,"observations":[{"parts":[{"type":"json","value":[' % sequence()
piece = PIECE * ((1 << 20) // len(PIECE))
os.write(own_socket(), struct.pack("<I", len(head) + 60 * len(piece) + 7) + head)
for _ in range(60): os.write(own_socket(), piece)
os.write(own_socket(), b'0]}]}]}')
"""
SPIN = """
signal.setitimer(signal.ITIMER_REAL, 0)
forge(FORGED)
while True: pass
"""
PULSE = """
signal.setitimer(signal.ITIMER_REAL, 0)
forge(FORGED)
while True:
    for _ in range(300_000): pass
    libc.usleep(60_000)
"""
"""Computes a little and sleeps a little, so that it is seldom seen running."""
TRAP = """
class Trap(dict):
    def items(self):
        {body}
self.trap = Trap(a=1)
return True
"""


def make_attack(body: str) -> Program:
    source = Attack(body, (), "true").source.replace("self, port, path, name", "self")
    return make_program(source, "World", "attack", "work")


def find_driver() -> int:
    """The process whose children are the zygotes."""
    processes = find_processes(os.getpid())
    return next(
        pid
        for pid in processes
        if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
    )


def read_most_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


@pytest.mark.parametrize("piece", ["{},", '{"":0},', "[[]],", '"ab",', "1000,"])
async def test_a_forged_reply_of_millions_of_pieces_does_not_fill_the_driver(
    settings: Settings, piece: str
) -> None:
    program = make_attack(FLOOD.replace("PIECE", repr(piece.encode())))
    async with Sandbox.open(settings, drivers=1) as sandbox:
        _, attacked = await sandbox.play(program, [Reset({"count": 0}, CLOCK, 7), invoke("attack")])
        assert attacked.code in ("killed", "timeout"), attacked
        assert read_most_memory(find_driver()) < ALLOWED


@pytest.mark.parametrize("piece", ['{"":0},', "[[]],"])
async def test_neither_does_one_where_a_state_was_asked_for(settings: Settings, piece: str) -> None:
    flood = FLOOD.replace("PIECE", repr(piece.encode())).strip().replace("\n", "\n        ")
    program = make_attack(TRAP.format(body=flood))
    async with Sandbox.open(settings, drivers=1) as sandbox:
        *_, looked = await sandbox.play(
            program, [Reset({"count": 0}, CLOCK, 7), invoke("attack"), Look()], hashes="none"
        )
        assert looked.code in ("killed", "timeout"), looked
        assert read_most_memory(find_driver()) < ALLOWED


DEEP = """
value = 1
for _ in range(LEVELS): value = [value]
forge(FORGED | {"parts": [{"type": "json", "value": value}]})
"""
LONG = """
forge(FORGED | {"parts": [{"type": "text", "text": "x" * BYTES}]})
"""


@pytest.mark.parametrize(("levels", "refused"), [(60, False), (300, True)])
async def test_a_reply_deeper_than_a_program_may_is_refused(
    jail: Sandbox, levels: int, refused: bool
) -> None:
    """A forged reply that is not too deep may still be refused: by the true one that follows it, if
    both are there when the driver reads."""
    _, attacked = await jail.play(
        make_attack(DEEP.replace("LEVELS", str(levels))),
        [Reset({"count": 0}, CLOCK, 7), invoke("attack")],
    )
    assert ("deeper" in attacked.message) is refused, attacked
    assert attacked.code == "killed" or not refused, attacked


@pytest.mark.parametrize(("size", "refused"), [(1_900_000, False), (2_200_000, True)])
async def test_a_frame_larger_than_a_reply_is_refused(
    settings: Settings, size: int, refused: bool
) -> None:
    """Nobody asked for a state."""
    async with (
        Sandbox.open(settings, drivers=1) as sandbox,
        sandbox.session(make_attack(LONG.replace("BYTES", str(size)))) as session,
    ):
        await session.step(Reset({"count": 0}, CLOCK, 7))
        attacked = await session.step(invoke("attack"))
        assert ("limit" in attacked.message) is refused, attacked.message
        assert attacked.code == "killed" or not refused, attacked.message


async def test_frames_that_say_nothing_buy_no_time(jail: Sandbox) -> None:
    body = """
while True:
    send(b'{"seq":%d,"done":false,"observations":[]}' % sequence())
    libc.usleep(100_000)
"""
    _, attacked = await jail.play(
        make_attack(body), [Reset({"count": 0}, CLOCK, 7), invoke("attack")]
    )
    assert (attacked.outcome, attacked.code) == ("failure", "killed")
    assert "without observations" in attacked.message


def read_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def read_ticks(pid: int) -> int:
    """Time it computed, in hundredths of a second."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def find_session() -> set[int]:
    """Sessions and spares: what has no child and is no driver."""
    processes = find_processes(os.getpid())
    parents = {
        int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for pid in processes
    }
    return processes - parents


async def wait_for_state(pid: int, state: str) -> bool:
    for _ in range(400):
        if read_state(pid) == state:
            return True
        await asyncio.sleep(0.05)
    return False


async def find_spinning() -> int:
    for _ in range(400):
        for pid in find_session():
            # On a busy machine it may have been found out before anybody looks here.
            if read_state(pid) in "RT":
                return pid
        await asyncio.sleep(0.02)
    raise AssertionError("no session computes")


async def test_a_session_that_computes_unasked_is_stopped_and_goes_on_when_it_is_called(
    settings: Settings,
) -> None:
    program = make_attack(SPIN)
    async with Sandbox.open(settings, drivers=1) as sandbox, sandbox.session(program) as session:
        await session.step(Reset({"count": 0}, CLOCK, 7))
        assert (await session.step(invoke("attack"))).parts == [{"type": "text", "text": "forged"}]
        pid = await find_spinning()
        assert await wait_for_state(pid, "T")
        # It never reads what it is asked: that it was let go on shows in its being killed for it.
        assert (await session.step(invoke("work"))).code == "timeout"


async def test_one_that_computes_now_and_then_is_stopped_too(settings: Settings) -> None:
    async with (
        Sandbox.open(settings, drivers=1) as sandbox,
        sandbox.session(make_attack(PULSE)) as session,
    ):
        await session.step(Reset({"count": 0}, CLOCK, 7))
        assert (await session.step(invoke("attack"))).parts == [{"type": "text", "text": "forged"}]
        for _ in range(400):
            if stopped := [pid for pid in find_session() if read_state(pid) == "T"]:
                break
            await asyncio.sleep(0.05)
        else:
            raise AssertionError("nobody was stopped")
        used = read_ticks(stopped[0])
        await asyncio.sleep(0.5)
        assert read_ticks(stopped[0]) == used


async def test_honest_sessions_that_were_stopped_answer(settings: Settings) -> None:
    async with Sandbox.open(settings, drivers=1) as sandbox:
        program = make_counter()
        async with sandbox.session(program) as first, sandbox.session(program) as second:
            for session in (first, second):
                assert (await session.step(RESET)).outcome == "ok"
            seen = list[int]()
            for _ in range(3):
                for session in (first, second):
                    answered = await session.step(invoke("add", name="a"))
                    assert answered.outcome == "ok"
                    seen.append(len(answered.parts[0]["value"]))
                for pid in find_session():
                    assert read_state(pid) in "STR"
                await asyncio.sleep(0.6)
                assert {read_state(pid) for pid in find_session()} & {"T"}, (
                    "nobody was stopped, so this shows nothing"
                )
            assert seen == [1, 1, 2, 2, 3, 3]


WORK = """
class World:
    def __init__(self, state):
        self.count = state["count"]

    def work(self):
        total = 0
        for number in range(200_000): total += number * number
        self.count += 1
        return self.count
"""


@pytest.mark.soak(area="sandbox")
async def test_ten_hostile_sessions_cost_an_honest_neighbour_at_most_a_tenth(
    settings: Settings,
) -> None:
    """Asked only under `make soak`, on an idle machine: elsewhere the outcome alone is."""
    async with Sandbox.open(settings, drivers=1) as sandbox:
        program = make_program(WORK, "World", "work")

        async def work(rounds: int) -> float:
            loop = asyncio.get_running_loop()
            start = loop.time()
            async with sandbox.session(program) as session:
                await session.step(Reset({"count": 0}, CLOCK, 7))
                for number in range(rounds):
                    assert (await session.step(invoke("work"))).parts == [
                        {"type": "json", "value": number + 1}
                    ]
            return loop.time() - start

        rounds = count(20, 400)
        alone = await work(rounds)
        hostile = make_attack(SPIN)
        async with AsyncExitStack() as stack:
            for _ in range(10):
                session = await stack.enter_async_context(sandbox.session(hostile))
                await session.step(Reset({"count": 0}, CLOCK, 7))
                await session.step(Invoke(Call(name="attack", arguments={})))
            beside = await work(rounds)
        if os.environ.get("ENVMILL_SOAK"):
            assert alone / beside >= 0.9, f"{alone:.2f} s alone, {beside:.2f} s beside them"
