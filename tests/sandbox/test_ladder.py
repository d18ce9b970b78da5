"""Resets in place: taken where they were shown to be as good as a fork, refused where they are not, never after a failure."""

import asyncio
from typing import Any

import pytest

from envmill.runtime.jail.ladder import EPISODES, TRIALS
from envmill.sandbox import Look, Observation, Program, Reset, Sandbox, Step
from envmill.settings import Settings
from tests.sandbox.programs import CLOCK, RESET, invoke, make_counter, make_program

EPISODE: list[Step] = [RESET, invoke("add", name="a"), Look()]

# Each leaves something in the interpreter that no reset of the program itself brings back.
LEAKS = {
    "hidden counter": "import math\nmath.seen = getattr(math, 'seen', 0) + 1\nself.seen = math.seen",
    "stale cache": "import functools as f\nif not hasattr(f, 'kept'): f.kept = dict(state)\nself.seen = f.kept.get('mark')",
    "patched library": "import json\nself.seen = json.dumps('x')\njson.dumps = lambda value: 'patched'",
    "patched builtin": "import builtins\nself.seen = len('xx')\nbuiltins.len = lambda value: 7",
    "process number": "import os\nself.seen = os.getpid()",
}


def make_leaky(body: str) -> Program:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return make_program(f"class Leaky:\n    def __init__(self, state):\n{lines}\n    def look(self): return self.seen\n", "Leaky", "look")


async def settle(sandbox: Sandbox, program: Program, times: int = TRIALS + 1) -> dict[str, int]:
    """Play a few different episodes, so that the driver knows; what it then holds."""
    for number in range(times):
        await sandbox.play(program, [Reset({"items": {}, "mark": number}, CLOCK, number), *list_calls(program)])
    (count,) = await sandbox.count()
    return count


def list_calls(program: Program) -> list[Step]:
    known = {"add": invoke("add", name="s"), "look": invoke("look")}
    return [known[tool.name] for tool in program.tools if tool.name in known]


@pytest.fixture
async def alone(settings: Settings) -> Any:
    """One driver: what is known about a program is known by its driver."""
    async with Sandbox.open(settings, drivers=1) as opened:
        yield opened


async def test_an_honest_program_is_proven_and_no_longer_forked(alone: Sandbox) -> None:
    program = make_counter()
    assert (await settle(alone, program))["proven"] == 1
    forks = (await alone.count())[0]["forks"]
    seen = [await alone.play(program, EPISODE) for _ in range(EPISODES // 2)]
    assert (await alone.count())[0]["forks"] == forks
    assert all(one == seen[0] for one in seen)
    assert await alone.play(program, EPISODE, fresh=True) == seen[0]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in LEAKS.items()])
async def test_a_program_that_leaves_something_behind_is_always_forked(alone: Sandbox, body: str) -> None:
    program = make_leaky(body)
    count = await settle(alone, program, TRIALS + 4)
    assert count["proven"] == 0
    steps: list[Step] = [Reset({"mark": 5}, CLOCK, 1), invoke("look")]
    answers = [await alone.play(program, steps) for _ in range(3)]
    fresh = await alone.play(program, steps, fresh=True)
    if "getpid" not in body:
        assert all(answer == fresh for answer in answers)


async def test_a_program_that_turns_leaky_later_meets_no_session_again(alone: Sandbox) -> None:
    """Proven honest, it patches the library in one call: the next episode must not see it."""
    source = (
        "import json\nclass Late:\n    def __init__(self, state): self.n = 0\n"
        "    def look(self): return json.dumps([1])\n    def spoil(self): json.dumps = lambda value: 'spoilt'\n"
    )
    program = make_program(source, "Late", "look", "spoil")
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look")]
    for _ in range(TRIALS + 1):
        clean = await alone.play(program, steps)
    assert (await alone.count())[0]["proven"] == 1
    await alone.play(program, [*steps, invoke("spoil")])
    assert [await alone.play(program, steps) for _ in range(5)] == [clean] * 5


async def test_after_a_failure_comes_a_fork(alone: Sandbox) -> None:
    program = make_counter()
    before = await settle(alone, program)
    for number, name in enumerate(("crash", "vanish"), 1):
        *_, failed = await alone.play(program, [RESET, invoke(name)])
        assert failed.outcome == "failure"
        assert await alone.play(program, EPISODE) == await alone.play(program, EPISODE, fresh=True)
        assert (await alone.count())[0]["forks"] >= before["forks"] + number


async def test_a_session_held_open_is_reset_in_place_and_exchanged_in_time(alone: Sandbox) -> None:
    program = make_counter()
    await settle(alone, program)
    forks = (await alone.count())[0]["forks"]
    async with alone.session(program) as session:
        hashes = {(await session.step(RESET), await session.step(invoke("add", name="a")))[1].state_hash for _ in range(EPISODES * 2)}
    assert len(hashes) == 1
    assert 1 <= (await alone.count())[0]["forks"] - forks <= 4


async def test_hashes_are_left_out_where_nobody_asks(alone: Sandbox) -> None:
    steps: list[Step] = [RESET, invoke("add", name="a"), invoke("add", name="b")]
    each = await alone.play(make_counter(), steps)
    last = await alone.play(make_counter(), steps, hashes="last")
    none = await alone.play(make_counter(), steps, hashes="none")
    assert [seen.state_hash for seen in last] == ["", "", each[2].state_hash]
    assert [seen.state_hash for seen in none] == [""] * 3
    assert [seen.parts for seen in each] == [seen.parts for seen in last] == [seen.parts for seen in none]


async def test_a_branch_goes_its_own_way(alone: Sandbox) -> None:
    program = make_counter()

    async def names(session: Any) -> list[str]:
        look: Observation = await session.step(Look())
        assert look.state is not None
        return sorted(row["name"] for row in look.state["items"].values())

    async with alone.session(program) as trunk, alone.session(program, beside=trunk) as branch:
        await trunk.step(RESET)
        await trunk.step(invoke("add", name="a"))
        assert (await trunk.branch(branch)).outcome == "ok"
        one, two = await asyncio.gather(trunk.step(invoke("add", name="b")), branch.step(invoke("add", name="b")))
        assert one == two
        await branch.step(invoke("add", name="c"))
        assert [await names(trunk), await names(branch)] == [["a", "b"], ["a", "b", "c"]]


async def test_states_named_by_key_are_the_states_that_were_sent(alone: Sandbox) -> None:
    """More states than a stock holds, again and again, in one process."""
    program = make_counter()
    await settle(alone, program)
    resets = [Reset({"items": {"x": {"name": str(number)}}}, CLOCK, 1) for number in range(12)]
    for _ in range(3):
        for reset in resets:
            look = (await alone.play(program, [reset, Look()]))[1]
            assert look.state is not None
            assert look.state["items"] == reset.state["items"]


async def test_a_failure_seen_in_a_used_process_is_not_believed(alone: Sandbox) -> None:
    """It wears out where nobody looks: after a dozen resets in one process its tool crashes, and never in a fresh one."""
    source = (
        "import functools\nclass Worn:\n    def __init__(self, state): functools.worn = getattr(functools, 'worn', 0) + 1\n"
        "    def look(self): return 1 / (functools.worn < 12)\n"
    )
    program = make_program(source, "Worn", "look")
    seen = [await alone.play(program, [Reset({}, CLOCK, number % 3), invoke("look")]) for number in range(40)]
    assert {one.outcome for answers in seen for one in answers} == {"ok"}
    # It had been proven, and is not any more.
    (count,) = await alone.count()
    assert (count["refuted"], count["forks"] < 40) == (1, True)


async def test_a_state_that_is_no_json_is_seen_when_somebody_looks(alone: Sandbox) -> None:
    program = make_program("class Odd:\n    def __init__(self, state): self.odd = {1, 2}\n    def look(self): return 1\n", "Odd", "look")
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look"), Look()]
    assert [seen.code for seen in await alone.play(program, steps, hashes="none")] == ["", "", "bad_state"]
    assert (await alone.play(program, steps))[0].code == "build"
