"""Sessions played many at a time: each gets its own observations, and the jail soon stops forking for them."""

import pytest

from envmill.gates.plans import play_plans
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox, Step
from tests.gates.specimens import ground

pytestmark = pytest.mark.asyncio(loop_scope="module")


def plan(built_test: int) -> list[Step]:
    test = ground().tests[built_test]
    return [Reset(test.initial_state, CLOCK, 0), *map(Invoke, test.setup), Invoke(test.call), *[Look()] * (built_test % 3)]


async def test_each_plan_gets_its_own_observations(sandbox: Sandbox) -> None:
    program = Program.of(ground().environment)
    plans = [plan(number % len(ground().tests)) for number in range(120)]
    played = await play_plans(program, plans, sandbox, in_place=True)
    assert [len(seen) for seen in played] == [len(steps) for steps in plans]
    alone = [await sandbox.play(program, steps) for steps in plans[:7]]
    assert played[:7] == alone


async def test_no_plans_are_no_message(sandbox: Sandbox) -> None:
    assert await play_plans(Program.of(ground().environment), [], sandbox) == []
