"""The standard library's clock and chance are virtual in the jail: same seed and clock, same
hashes, in any process."""

from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.sandbox import Look, Reset, Sandbox
from tests.sandbox.programs import CLOCK, invoke, make_program

CHANCE = """
import datetime, os, random, secrets, time, uuid
from datetime import date, datetime as moment, timezone
from random import choice, randint

class Chance:
    def __init__(self, state):
        self.drawn = []

    def draw(self):
        items = list(range(20))
        random.shuffle(items)
        self.drawn.append([
            time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.strftime("%F %T"), time.ctime(), list(time.gmtime()),
            moment.now().isoformat(), moment.now(timezone.utc).isoformat(), moment.utcnow().isoformat(), str(date.today()),
            random.random(), randint(1, 10**9), choice(items), items, random.Random().random(), random.Random(5).random(),
            random.SystemRandom().random(), str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(), os.urandom(4).hex(),
        ])

    def sleep(self):
        time.sleep(86400)

    def kinds(self):
        now = moment.now()
        return [
            isinstance(now.date(), date), isinstance(now, date), issubclass(moment, date), isinstance(now - datetime.timedelta(1), moment),
            moment.strptime("2026-01-02", "%Y-%m-%d").isoformat(), moment.fromisoformat("2026-01-02").date() == date(2026, 1, 2),
            isinstance("x", date), isinstance(date.today(), moment), now.astimezone().utcoffset().total_seconds(),
        ]

    def order(self):
        self.drawn = list({"apple", "pear", "plum", "cherry", "grape", "fig"})
"""
CHANCE_TOOLS = ("draw", "sleep", "kinds", "order")


async def end_hash(jail: Sandbox, tool: str = "draw", clock: str = CLOCK, seed: int = 7) -> str:
    program = make_program(CHANCE, "Chance", *CHANCE_TOOLS)
    *_, end = await jail.play(program, [Reset({}, clock, seed), invoke(tool), invoke(tool), Look()])
    assert end.outcome == "ok", end
    return end.state_hash


async def test_same_clock_and_seed_agree_across_hash_seeds(settings: Settings) -> None:
    async with Sandbox.open(settings, 0) as first, Sandbox.open(settings, 1) as second:
        assert await end_hash(first) == await end_hash(first) == await end_hash(second)
        # The harness can see a difference: an order that comes from hashing does show.
        assert await end_hash(first, "order") != await end_hash(second, "order")


async def test_clock_and_seed_each_count(jail: Sandbox) -> None:
    hashes = {
        await end_hash(jail),
        await end_hash(jail, seed=8),
        await end_hash(jail, clock="2026-03-01T09:00:01Z"),
    }
    assert len(hashes) == 3


async def test_a_reset_in_place_is_as_good_as_a_fresh_process(jail: Sandbox) -> None:
    program = make_program(CHANCE, "Chance", *CHANCE_TOOLS)
    steps = [Reset({}, CLOCK, 7), invoke("draw")]
    seen = await jail.play(program, [*steps, *steps])
    assert seen[1].state_hash == seen[3].state_hash


async def test_everything_reads_the_one_clock(jail: Sandbox) -> None:
    program = make_program(CHANCE, "Chance", *CHANCE_TOOLS)
    *_, look = await jail.play(
        program, [Reset({}, CLOCK, 7), invoke("sleep"), invoke("draw"), Look()]
    )
    assert look.state is not None
    drawn: list[Any] = look.state["drawn"][0]
    tomorrow = 1772442000
    assert drawn[:4] == [tomorrow, tomorrow * 10**9, tomorrow, tomorrow]
    assert drawn[4:6] == ["2026-03-02 09:00:00", "Mon Mar  2 09:00:00 2026"]
    assert drawn[7:11] == [
        "2026-03-02T09:00:00",
        "2026-03-02T09:00:00+00:00",
        "2026-03-02T09:00:00",
        "2026-03-02",
    ]


async def test_virtual_classes_pass_for_the_real_ones(jail: Sandbox) -> None:
    program = make_program(CHANCE, "Chance", *CHANCE_TOOLS)
    _, kinds = await jail.play(program, [Reset({}, CLOCK, 7), invoke("kinds")])
    value = kinds.parts[0]["value"]
    assert value == [True, True, True, True, "2026-01-02T00:00:00", True, False, False, 0]


@pytest.mark.parametrize(
    "name",
    [
        "json",
        "decimal",
        "statistics",
        "urllib.parse",
        "dataclasses",
        "zlib",
        "_strptime",
        "enum",
        "collections.abc",
    ],
)
async def test_modules_loaded_ahead_import_in_the_jail(jail: Sandbox, name: str) -> None:
    await jail.inspect(make_program(f"import {name}\nclass C:\n  def f(self): pass", "C", "f"))
