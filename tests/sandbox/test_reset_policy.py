"""Resets in place: taken where they were shown to be as good as a fork, refused where they are not,
never after a failure."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.runtime.jail.client import Environment
from envmill.runtime.jail.reset_policy import EPISODES, TRIALS
from envmill.sandbox import Look, Observation, Program, Reset, Sandbox, Step
from envmill.sandbox.vendor import write_jail
from tests.sandbox.leaving import (
    BEHIND_THE_BACK,
    BUSY,
    LATE,
    LEAKS,
    make_counter,
    make_late,
    make_leaky,
    make_patient,
    make_tables,
)  # fmt: skip
from tests.sandbox.programs import CLOCK, RESET, invoke, make_program
from tests.sandbox.vendored import open_vendored

EPISODE: list[Step] = [RESET, invoke("add", name="a"), Look()]


async def settle(sandbox: Sandbox, program: Program, times: int = TRIALS + 1) -> dict[str, int]:
    """Play a few different episodes, so that the driver knows; what it then holds."""
    for number in range(times):
        await sandbox.play(
            program,
            [Reset({"items": {}, "mark": number}, CLOCK, number), *list_calls(program)],
            in_place=True,
        )
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
    seen = [await alone.play(program, EPISODE, in_place=True) for _ in range(EPISODES // 2)]
    # A few were drawn to be played again.
    assert (await alone.count())[0]["forks"] <= forks + 5
    assert all(one == seen[0] for one in seen)
    assert await alone.play(program, EPISODE) == seen[0]


async def test_a_program_that_works_with_the_library_leaves_nothing(alone: Sandbox) -> None:
    program = make_program(BUSY, "Busy", "look")
    steps: list[Step] = [Reset({"rows": {}}, CLOCK, 7), invoke("look"), invoke("look"), Look()]
    fresh = await alone.play(program, steps)
    assert [seen.outcome for seen in fresh] == ["ok"] * 4, fresh[1]
    seen = [await alone.play(program, steps, in_place=True) for _ in range(EPISODES * 2)]
    assert seen == [fresh] * len(seen)
    (count,) = await alone.count()
    assert (count["proven"], count["refuted"], count["forks"] < EPISODES // 2) == (1, 0, True)


async def test_nothing_is_played_in_place_that_was_not_asked_to_be(alone: Sandbox) -> None:
    program = make_counter()
    await settle(alone, program)
    for sandbox, in_place in ((alone, False), (alone.careful, True)):
        forks = (await alone.count())[0]["forks"]
        for _ in range(5):
            await sandbox.play(program, EPISODE, in_place=in_place)
        assert (await alone.count())[0]["forks"] >= forks + 5
    forks = (await alone.count())[0]["forks"]
    async with alone.session(program) as session:
        for _ in range(5):
            await session.step(RESET)
    assert (await alone.count())[0]["forks"] >= forks + 5


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in LEAKS.items()])
async def test_a_program_that_leaves_something_behind_is_always_forked(
    alone: Sandbox, body: str
) -> None:
    program = make_leaky(body)
    count = await settle(alone, program, TRIALS + 4)
    assert count["proven"] == 0
    steps: list[Step] = [Reset({"mark": 5}, CLOCK, 1), invoke("look")]
    answers = [await alone.play(program, steps, in_place=True) for _ in range(3)]
    fresh = await alone.play(program, steps)
    assert all(answer == fresh for answer in answers)


@pytest.mark.parametrize("name", LATE)
async def test_what_one_session_leaves_behind_the_next_does_not_meet(
    alone: Sandbox, name: str
) -> None:
    """The first three records do not touch it, as is usual for a rare tool."""
    program = make_late(*LATE[name])
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look")]
    for _ in range(TRIALS + 1):
        clean = await alone.play(program, steps, in_place=True)
    assert clean[1].outcome == "ok"
    *_, spoilt = await alone.play(program, [*steps, invoke("spoil"), invoke("look")], in_place=True)
    assert spoilt.parts != clean[1].parts
    assert [await alone.play(program, steps, in_place=True) for _ in range(5)] == [clean] * 5


@pytest.mark.parametrize("backend", ["apsw", ""])
async def test_what_a_connection_counted_the_next_session_does_not_meet(
    alone: Sandbox, backend: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An insert that is ignored leaves the number of the last one: ids of another session would get
    into this one's tables."""
    program = make_tables()
    steps: list[Step] = [
        Reset({"notes": [{"id": 1, "text": "a"}]}, CLOCK, 1),
        invoke("keep", text="a"),
    ]
    far: list[Step] = [*steps[:1], invoke("add", id=7), invoke("add", id=8)]
    if backend:
        for number in range(TRIALS + 1):
            await alone.play(
                program,
                [Reset({"notes": []}, CLOCK, number), invoke("add", id=number + 1)],
                in_place=True,
            )
        assert (await alone.count())[1]["proven"] == 1
        await alone.play(program, far, in_place=True)
        assert await alone.play(program, steps, in_place=True) == await alone.play(program, steps)
        return
    with open_vendored(tmp_path_factory.mktemp("jail")) as vendored:
        for number in range(TRIALS + 1):
            await vendored.play(
                program,
                [Reset({"notes": []}, CLOCK, number), invoke("add", id=number + 1)],
                in_place=True,
            )
        assert (await vendored.count())[1]["proven"] == 1
        await vendored.play(program, far, in_place=True)
        assert await vendored.play(program, steps, in_place=True) == await vendored.play(
            program, steps
        )


@pytest.mark.parametrize("name", BEHIND_THE_BACK)
async def test_what_a_program_did_behind_the_back_of_its_database_is_undone(
    alone: Sandbox, name: str
) -> None:
    """It reaches the connection by private names alone, and imports nothing."""
    spoil = "\n".join(f"        con.execute({statement!r})" for statement in BEHIND_THE_BACK[name])
    source = (
        "class Notes:\n    def __init__(self, db): self._db = db\n"
        "    def add(self, id): return self._db.execute('insert into notes values (?, ?)', (id, "
        "str(id)))\n"
        "    def look(self): return [self._db.query('select * from notes'), "
        "self._db.query('select name from sqlite_temp_schema')]\n"
        "    def spoil(self):\n        con = self._db._database._backend._connection\n        "
        f"con.authorizer = None\n{spoil}\n"
    )
    made = make_program(source, "Notes", "add", "look", "spoil", id={"type": "integer"})
    program = replace(
        made,
        files={
            **made.files,
            "schema.sql": "create table notes (id integer primary key, text text unique);",
        },
    )
    start = Reset({"notes": [{"id": 1, "text": "a"}]}, CLOCK, 1)
    steps: list[Step] = [start, invoke("add", id=7), invoke("look")]
    for _ in range(TRIALS + 1):
        clean = await alone.play(program, steps, in_place=True)
    assert (await alone.count())[1]["proven"] == 1
    *_, spoilt = await alone.play(program, [start, invoke("spoil")], in_place=True)
    assert spoilt.outcome == "ok"
    assert [await alone.play(program, steps, in_place=True) for _ in range(3)] == [clean] * 3


async def test_a_patient_program_is_found_out_and_reported(
    alone: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Proven honest, it waits for eight sessions before it answers otherwise, and counts them where
    nobody looks."""
    program = make_patient(8)
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look")]
    for _ in range(4000):
        await alone.play(program, steps, in_place=True)
        if caplog.records:
            break
    assert [
        (record.levelname, program.message["hash"] in record.getMessage())
        for record in caplog.records
    ] == [("WARNING", True)]
    (count,) = await alone.count()
    assert (count["proven"], count["refuted"]) == (0, 1)
    fresh = await alone.play(program, steps)
    assert [await alone.play(program, steps, in_place=True) for _ in range(5)] == [fresh] * 5


async def test_what_no_record_shows_is_found_in_an_episode_that_is_drawn(
    alone: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """It is proven on small marks, and tells the last session's mark when it is given a large
    one."""
    source = (
        "import functools\nKEPT = functools.wraps\nclass Sly:\n"
        "    def __init__(self, state):\n        self._last = getattr(KEPT, 'mark', None)\n       "
        " self._mark = KEPT.mark = state['mark']\n"
        "    def look(self): return self._last if self._mark > 100 else None\n"
    )
    program = make_program(source, "Sly", "look")
    assert (await settle(alone, program))["proven"] == 1
    for number in range(2000):
        await alone.play(
            program, [Reset({"mark": 101 + number}, CLOCK, 1), invoke("look")], in_place=True
        )
        if caplog.records:
            break
    assert "look" in caplog.text
    (count,) = await alone.count()
    assert (count["proven"], count["refuted"]) == (0, 1)


async def test_a_patient_program_tells_a_fresh_session_nothing_else(alone: Sandbox) -> None:
    """Whatever decides is played afresh: it never counts beyond one."""
    program = make_patient(8)
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look")]
    seen = [await alone.play(program, steps) for _ in range(40)]
    assert seen == seen[:1] * 40
    async with alone.session(program) as session:
        assert [await session.play(steps) for _ in range(40)] == seen


async def test_nor_does_it_tell_a_session_of_an_exported_folder(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """An agent that does nothing was paid from the ninth session on: the end that pays was there
    from the start."""
    program = make_patient(8)
    write_jail(folder := tmp_path_factory.mktemp("exported"), program)
    scenario: dict[str, Any] = {"initial_state": {}, "clock": CLOCK, "seed": 1}
    with Environment(folder) as environment:
        session = environment.session()
        held = [(session.reset(scenario), session.call("look", {})) for _ in range(40)]
        for _ in range(40):
            other = environment.session()
            held.append((other.reset(scenario), other.call("look", {})))
            other.close()
    assert held == held[:1] * 80


async def test_after_a_failure_comes_a_fork(alone: Sandbox) -> None:
    program = make_counter()
    before = await settle(alone, program)
    *_, failed = await alone.play(program, [RESET, invoke("crash")], in_place=True)
    assert failed.outcome == "failure"
    assert await alone.play(program, EPISODE, in_place=True) == await alone.play(program, EPISODE)
    assert (await alone.count())[0]["forks"] >= before["forks"] + 1


async def test_a_session_held_open_is_reset_in_place_and_exchanged_in_time(alone: Sandbox) -> None:
    program = make_counter()
    await settle(alone, program)
    forks = (await alone.count())[0]["forks"]
    async with alone.session(program, in_place=True) as session:
        hashes = {
            (await session.step(RESET), await session.step(invoke("add", name="a")))[1].state_hash
            for _ in range(EPISODES * 2)
        }
    assert len(hashes) == 1
    # Two exchanges, and a few that were drawn to be played again.
    assert 1 <= (await alone.count())[0]["forks"] - forks <= 14


async def test_hashes_are_left_out_where_nobody_asks(alone: Sandbox) -> None:
    steps: list[Step] = [RESET, invoke("add", name="a"), invoke("add", name="b")]
    each = await alone.play(make_counter(), steps)
    last = await alone.play(make_counter(), steps, hashes="last")
    none = await alone.play(make_counter(), steps, hashes="none")
    assert [seen.state_hash for seen in last] == ["", "", each[2].state_hash]
    assert [seen.state_hash for seen in none] == [""] * 3
    assert (
        [seen.parts for seen in each]
        == [seen.parts for seen in last]
        == [seen.parts for seen in none]
    )


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
        one, two = await asyncio.gather(
            trunk.step(invoke("add", name="b")), branch.step(invoke("add", name="b"))
        )
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
            look = (await alone.play(program, [reset, Look()], in_place=True))[1]
            assert look.state is not None
            assert look.state["items"] == reset.state["items"]


async def test_a_failure_seen_in_a_used_process_is_not_believed(alone: Sandbox) -> None:
    """It wears out where nobody looks: after a dozen resets in one process its tool crashes, and
    never in a fresh one."""
    source = (
        "import functools\nKEPT = functools.wraps\nclass Worn:\n    def __init__(self, state): "
        "KEPT.worn = getattr(KEPT, 'worn', 0) + 1\n"
        "    def look(self): return 1 / (KEPT.worn < 12)\n"
    )
    program = make_program(source, "Worn", "look")
    seen = [
        await alone.play(program, [Reset({}, CLOCK, number % 3), invoke("look")], in_place=True)
        for number in range(40)
    ]
    assert {one.outcome for answers in seen for one in answers} == {"ok"}
    # It had been proven, and is not any more.
    (count,) = await alone.count()
    assert (count["refuted"], count["forks"] < 40) == (1, True)


async def test_a_state_that_is_no_json_is_seen_when_somebody_looks(alone: Sandbox) -> None:
    program = make_program(
        "class Odd:\n    def __init__(self, state): self.odd = {1, 2}\n    def look(self): "
        "return 1\n",
        "Odd",
        "look",
    )
    steps: list[Step] = [Reset({}, CLOCK, 1), invoke("look"), Look()]
    assert [seen.code for seen in await alone.play(program, steps, hashes="none")] == [
        "",
        "",
        "bad_state",
    ]
    assert (await alone.play(program, steps))[0].code == "build"
