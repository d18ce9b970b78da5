"""Whoever mends is paid, whoever does anything else is not, and a container that broke says nothing about anybody."""

import random

import pytest

from envmill.drafting.breaking import list_faults
from envmill.drafting.breaking.judging import judge, take_reference
from envmill.drafting.breaking.machine import Containers, run, set_up
from envmill.drafting.breaking.proving import break_down
from envmill.drafting.breaking.systems import load_system
from schemas.system import Broken, Judgement
from tests.drafting.breaking.specimens import ATTACKS
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUICK = ("mends by hand, keeps a copy", "forges the check in the background")


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", QUICK if count(1, 2) == 1 else ATTACKS)
async def test_an_attack_gets_what_it_deserves(containers: Containers, name: str) -> None:
    attack = ATTACKS[name]
    judgement = await _try(containers, attack.script)
    assert (judgement.verdict, judgement.detail) == ("pass", "") if attack.verdict == "pass" else judgement.reason in attack.reasons, (
        judgement
    )


async def _try(containers: Containers, script: str) -> Judgement:
    healthy = load_system("website")
    fault = next(each for each in list_faults(healthy, random.Random(0)) if each.operator == "wrong_port")
    broken = Broken(system="website", variation=0, faults=[fault])
    async with containers() as container:
        await set_up(container, healthy)
        await break_down(container, broken)
        reference = await take_reference(container, healthy)
        await run(container, script)
        return await judge(container, healthy, broken, reference)
