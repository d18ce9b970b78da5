"""Whoever mends is paid, whoever does anything else is not, and a container that broke says nothing
about anybody."""

import random

import pytest

from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.judging import judge
from envmill.kinds.terminal.breaking.proving import break_down
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines.baseline import take_ground, take_reference
from envmill.sandbox.machines.machine import Containers, run, set_up
from schemas.system import BrokenSystem, Judgement
from tests.kinds.terminal.breaking.specimens import ATTACKS
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL = count(1, 2) == 2


@pytest.mark.long
async def test_a_forger_is_not_paid_and_whoever_mends_after_it_is(containers: Containers) -> None:
    forges, mends = (
        ATTACKS["forges the check in the background"],
        ATTACKS["mends by hand, keeps a copy"],
    )
    forged, mended = await _try(containers, forges.script, f"services start; {mends.script}")
    assert forged.reason in forges.reasons, forged
    assert (mended.verdict, mended.detail) == ("pass", "")


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(not FULL, reason="every attack: make soak AREA=terminal")
@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_gets_what_it_deserves(containers: Containers, name: str) -> None:
    attack = ATTACKS[name]
    (judgement,) = await _try(containers, attack.script)
    if attack.verdict == "pass":
        assert (judgement.verdict, judgement.detail) == ("pass", "")
    else:
        assert judgement.reason in attack.reasons, judgement


async def _try(containers: Containers, *scripts: str) -> list[Judgement]:
    """Judged after each, in one container."""
    healthy = load_system("website")
    fault = next(
        each for each in list_faults(healthy, random.Random(0)) if each.operator == "wrong_port"
    )
    broken = BrokenSystem(system="website", variation=0, faults=[fault])
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        await break_down(container, broken)
        reference = await take_reference(container, healthy, ground)
        judgements: list[Judgement] = []
        for script in scripts:
            await run(container, script)
            judgements.append(await judge(container, healthy, broken, reference))
        return judgements
