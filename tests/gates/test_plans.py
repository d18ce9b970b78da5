"""Sessions played many at a time: each gets its own observations, and the jail soon stops forking
for them."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Step
from envmill.sandbox.batches import PLAN_OVER, play_plans
from tests.gates.specimens import ground

pytestmark = pytest.mark.asyncio(loop_scope="module")


def plan(built_test: int) -> list[Step]:
    test = ground().tests[built_test]
    return [
        Reset(test.initial_state, CLOCK, 0),
        *map(Invoke, test.setup),
        Invoke(test.call),
        *[Look()] * (built_test % 3),
    ]


async def test_each_plan_gets_its_own_observations(sandbox: Sandbox) -> None:
    program = Program.of(ground().environment)
    plans = [plan(number % len(ground().tests)) for number in range(120)]
    played = await play_plans(program, plans, sandbox, in_place=True)
    assert [len(seen) for seen in played] == [len(steps) for steps in plans]
    alone = [await sandbox.play(program, steps) for steps in plans[:7]]
    assert played[:7] == alone


class Hurried:
    """A sandbox in whose messages there is time for so many sessions."""

    def __init__(self, sandbox: Sandbox, most: int) -> None:
        self._sandbox, self._most = sandbox, most
        self.messages = 0

    async def play(
        self, program: Program, steps: Sequence[Step], **manner: Any
    ) -> list[Observation]:
        self.messages += 1
        starts = [place for place, step in enumerate(steps) if isinstance(step, Reset)]
        end = ([*starts, len(steps)])[min(self._most, len(starts))]
        over = Observation(
            "failure", [], PLAN_OVER, "The plan's time was used up before this step.", "", None
        )
        reached = await self._sandbox.play(program, steps[:end], **manner) if end else []
        return [*reached, *[over for _ in steps[end:]]]


async def test_a_session_that_a_message_had_no_time_for_is_played_in_another(
    sandbox: Sandbox,
) -> None:
    program, plans = Program.of(ground().environment), [plan(number) for number in range(9)]
    hurried = Hurried(sandbox, 2)
    assert await play_plans(program, plans, cast(Any, hurried)) == await play_plans(
        program, plans, sandbox
    )
    assert hurried.messages == 5


async def test_a_program_that_does_not_start_is_not_asked_again(sandbox: Sandbox) -> None:
    hurried = Hurried(sandbox, 0)
    (seen,) = await play_plans(Program.of(ground().environment), [plan(0)], cast(Any, hurried))
    assert ({one.code for one in seen}, hurried.messages) == ({PLAN_OVER}, 1)


async def test_no_plans_are_no_message(sandbox: Sandbox) -> None:
    assert await play_plans(Program.of(ground().environment), [], sandbox) == []
