"""A mend that leaves the machine otherwise than its page says is none; one that no reference path
makes is one all the same."""

import random

import pytest

from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.judging import judge
from envmill.kinds.terminal.breaking.proving import break_down
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines.baseline import take_ground, take_reference
from envmill.sandbox.machines.machine import Containers, run, set_up
from schemas.system import BrokenSystem, Fault, Judgement
from tests.kinds.terminal.breaking.mends import MENDS, Mend
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS = ("a notice board for everybody",)


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", ALWAYS if count(1, 2) == 1 else MENDS)
async def test_a_mend_is_taken_for_what_it_is(containers: Containers, name: str) -> None:
    judgement = await try_mend(containers, MENDS[name])
    if MENDS[name].holds:
        assert (judgement.verdict, judgement.detail) == ("pass", "")
    else:
        assert judgement.reason in ("still_broken", "not_lasting"), judgement


async def try_mend(containers: Containers, mend: Mend) -> Judgement:
    healthy = load_system(mend.system)
    broken = BrokenSystem(system=mend.system, variation=0, faults=[find_fault(mend)])
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        await break_down(container, broken)
        reference = await take_reference(container, healthy, ground)
        ran = await run(container, mend.script)
        assert ran.code == 0, ran.text
        return await judge(container, healthy, broken, reference)


def find_fault(mend: Mend) -> Fault:
    faults = list_faults(load_system(mend.system), random.Random(0))
    return next(
        each for each in faults if (each.operator, each.handle) == (mend.operator, mend.handle)
    )
