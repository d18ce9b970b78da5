"""Plans and sessions: one observation per step, whatever the program does."""

import asyncio
import dataclasses

import pytest

from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.runtime.jail.layers import KERNEL_LAYERS
from envmill.runtime.jail.wire import LIMIT
from envmill.sandbox import Advance, Invoke, Look, Program, Reset, Sandbox, Step
from schemas.base import digest
from schemas.environment import Call
from tests.sandbox.programs import CLOCK, COUNTER, RESET, invoke, make_counter, make_program


async def test_outcomes_state_and_hashes(jail: Sandbox) -> None:
    reset, added, refused, crashed, look = await jail.play(
        make_counter(),
        [RESET, invoke("add", name="a"), invoke("add", name=""), invoke("crash"), Look()],
    )
    assert [seen.outcome for seen in (reset, added, refused, crashed, look)] == [
        "ok",
        "ok",
        "rejection",
        "failure",
        "ok",
    ]
    assert (refused.code, refused.message) == ("empty", "Name it.")
    assert crashed.code == "crash"
    assert "ZeroDivisionError" in crashed.message
    assert 'File "program.py", line' in crashed.message
    assert look.state is not None
    assert added.parts == [{"type": "json", "value": look.state["items"]}]
    assert (
        look.state_hash
        == added.state_hash
        == refused.state_hash
        == crashed.state_hash
        == digest(look.state, 32)
    )
    assert reset.state_hash != added.state_hash


async def test_advance_moves_the_virtual_clock(jail: Sandbox) -> None:
    *_, look = await jail.play(
        make_counter(), [RESET, Advance(60), invoke("add", name="a"), Look()]
    )
    assert look.state is not None
    assert [row["at"] for row in look.state["items"].values()] == ["2026-03-01T09:01:00+00:00"]


async def test_every_play_starts_afresh(jail: Sandbox) -> None:
    leaky = make_counter(
        "SEEN = []\n" + COUNTER.replace("self.slow = 0", "SEEN.append(1); self.slow = len(SEEN)")
    )
    hashes = {seen.state_hash for _ in range(2) for seen in await jail.play(leaky, [RESET, RESET])}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("call", "code", "lost"),
    [
        pytest.param("hang", "timeout", False, id="interrupted"),
        pytest.param("vanish", "killed", True, id="dead"),
        pytest.param("spoil", "bad_state", False, id="state"),
        pytest.param("crash_oddly", "<object object", False, id="odd-rejection"),
    ],
)
async def test_one_bad_call_is_one_failed_observation(
    jail: Sandbox, call: str, code: str, lost: bool
) -> None:
    steps: list[Step] = [
        RESET,
        invoke("add", name="a"),
        invoke(call),
        invoke("crash"),
        RESET,
        invoke("add", name="b"),
    ]
    seen = await jail.play(make_counter(), steps)
    assert [one.outcome for one in (*seen[:2], *seen[4:])] == ["ok"] * 4
    assert seen[2].code.startswith(code)
    assert (seen[3].code == "session_lost") is lost


async def test_a_session_goes_on_after_a_reset(jail: Sandbox) -> None:
    async with jail.session(make_counter()) as session:
        assert (await session.step(invoke("add", name="a"))).code == "session_lost"
        assert (await session.step(RESET)).outcome == "ok"
        assert (await session.step(invoke("add", name="a"))).outcome == "ok"
        assert (await session.step(invoke("vanish"))).code == "killed"
        assert (await session.step(invoke("add", name="a"))).code == "session_lost"
        assert (await session.step(RESET)).outcome == "ok"
        assert (await session.step(invoke("add", name="a"))).outcome == "ok"


async def test_sessions_side_by_side_do_not_meet(jail: Sandbox) -> None:
    async def run(name: str) -> set[str]:
        async with jail.session(make_counter()) as session:
            await session.step(RESET)
            await session.step(invoke("add", name=name))
            look = await session.step(Look())
            assert look.state is not None
            return {row["name"] for row in look.state["items"].values()}

    assert await asyncio.gather(*(run(str(number)) for number in range(8))) == [
        {str(number)} for number in range(8)
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("class Counter(:\n  pass", "program.py, line 1: SyntaxError", id="syntax"),
        pytest.param("import numpy\n", "No module named 'numpy'", id="import"),
        pytest.param("x = 1 / 0", 'File "program.py", line 1', id="raises"),
        pytest.param("class Other: pass", "defines no class 'Counter'", id="class"),
        pytest.param("class Counter: pass", "no method for the tool 'add'", id="method"),
        pytest.param("raise SystemExit", "SystemExit", id="exit"),
        pytest.param("import os; os._exit(1)", "ended by itself", id="gone"),
    ],
)
async def test_a_program_that_does_not_load(jail: Sandbox, source: str, words: str) -> None:
    with pytest.raises(BuildError, match=words):
        await jail.inspect(make_counter(source))
    await jail.inspect(make_counter())


async def test_only_modules_loaded_ahead_are_found_even_where_files_can_be_opened(
    settings: Settings,
) -> None:
    trusting = dataclasses.replace(settings, trust_generated_code=True)
    async with Sandbox.open(trusting, without=(*KERNEL_LAYERS, "uid")) as loose:
        with pytest.raises(BuildError, match="No module named 'xmlrpc'"):
            await loose.inspect(make_counter("import xmlrpc\n" + COUNTER))


async def test_a_program_that_does_not_construct(jail: Sandbox) -> None:
    program = make_counter(COUNTER.replace('state["items"]', 'state["rows"]'))
    await jail.inspect(program)
    reset, added = await jail.play(program, [RESET, invoke("add", name="a")])
    assert (reset.outcome, reset.code, added.code) == ("failure", "build", "build")
    assert "KeyError: 'rows'" in reset.message
    compiled, _ = await jail.play(make_counter("class Counter(:"), [RESET, Look()])
    assert (compiled.outcome, compiled.code) == ("failure", "build")


async def test_files_import_each_other_afresh(jail: Sandbox) -> None:
    files = {"program.py": "from parts.rules import LIMIT\n" + COUNTER, "parts/__init__.py": ""}
    program = Program(
        {**files, "parts/rules.py": "LIMIT = 3"}, "program:Counter", make_counter().tools
    )
    assert [seen.outcome for seen in await jail.play(program, [RESET, RESET, Look()])] == ["ok"] * 3


async def test_a_plan_with_large_states_and_many_steps(jail: Sandbox) -> None:
    rows = {str(number): {"name": "x" * 100} for number in range(20_000)}
    seen = await jail.play(
        make_counter(), [Reset({"items": rows}, CLOCK, 1), Look(), *[invoke("add", name="")] * 300]
    )
    assert seen[1].state is not None
    assert seen[1].state["items"] == rows
    assert {one.outcome for one in seen[2:]} == {"rejection"}
    assert len(seen) == 302


async def test_a_state_of_twenty_megabytes_is_played_and_seen(jail: Sandbox) -> None:
    state = {
        "items": {
            f"i{number}": {"name": "n" * 900, "tags": ['"quoted"', number]}
            for number in range(21_000)
        }
    }
    # Hashed at its end, the state is at once held as objects, as bytes, in rows, and on its way
    # out.
    reset, add, look = await jail.play(
        make_counter(), [Reset(state, CLOCK, 1), invoke("add", name="b"), Look()], hashes="last"
    )
    assert (reset.outcome, look.outcome) == ("ok", "ok"), (reset, look.message)
    assert add.code in ("bad_reply", "timeout"), (
        f"a reply of so much is refused, if the machine is quick enough to have it: {add.message}"
    )
    assert look.state is not None
    assert len(look.state["items"]) == 21_001


async def test_what_cannot_be_sent_is_the_senders_fault(jail: Sandbox) -> None:
    with pytest.raises(BuildError, match="cannot be sent"):
        await jail.play(make_counter(), [Reset({"items": "x" * LIMIT}, CLOCK, 1)])
    with pytest.raises(BuildError, match="cannot be sent"):
        await jail.play(make_counter(), [Invoke(Call(name="add", arguments={"name": 2**70}))])
    with pytest.raises(ValueError, match="yesterday"):
        Reset({}, "yesterday", 1)


BUSY = """
from envmill.runtime.jail.kernel import ctypes
class Busy:
    def __init__(self, state):
        self.n = 0

    def work(self):
        ctypes.CDLL(None).usleep(350_000)
        self.n += 1
        return self.n
"""


async def test_slow_calls_one_after_the_other_are_not_a_hang(jail: Sandbox) -> None:
    seen = await jail.play(
        make_program(BUSY, "Busy", "work"), [Reset({}, CLOCK, 1), *[invoke("work")] * 7]
    )
    assert [one.parts for one in seen[1:]] == [
        [{"type": "json", "value": number}] for number in range(1, 8)
    ]
