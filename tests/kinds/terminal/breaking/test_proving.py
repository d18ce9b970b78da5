"""The composer's proof: what holds is offered, and each way not to hold is refused with its
reason."""

import random
from collections import Counter

import pytest

from envmill.kinds.terminal.breaking.composing import (
    compose,
    find_leaks,
    find_underivable,
    write_request,
)
from envmill.kinds.terminal.breaking.proving import REPEATS, prove
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.sandbox.machines.machine import Containers
from schemas.system import BrokenSystem
from tests.kinds.terminal.breaking.specimens import plant
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHARE = load_system("share")
PLANTED = plant(SHARE)
QUICK = ("both are in one place",)
SIZES = (1, 1, 2, 2, 3)
"""How many faults the scenarios of one system have."""


@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", QUICK if count(1, 2) == 1 else PLANTED)
async def test_what_does_not_hold_is_refused_with_its_reason(
    containers: Containers, name: str
) -> None:
    planted = PLANTED[name]
    repeats = 8 if "flaky" in planted.reasons else 1
    proof = await prove(
        SHARE, BrokenSystem(system="share", variation=0, faults=planted.faults), containers, repeats
    )
    assert proof.reason in planted.reasons, proof


@pytest.mark.long
async def test_a_composition_is_proved_in_every_order(containers: Containers) -> None:
    broken = compose(SHARE, 2, random.Random(4))
    proof = await prove(SHARE, broken, containers, repeats=2)
    assert (proof.reason, proof.walks) == ("", 2), proof
    assert set(proof.symptoms) <= set(SHARE.system.complaints)


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(count(1, 2) == 1, reason="scenarios of every system: make soak AREA=terminal")
@pytest.mark.parametrize("name", list_systems())
async def test_scenarios_of_a_system_are_proved(containers: Containers, name: str) -> None:
    """One in five may be refused, with a reason; what is offered has been walked five times."""
    reasons: Counter[str] = Counter()
    for turn, size in enumerate(SIZES):
        healthy = load_system(name, turn)
        broken = compose(healthy, size, random.Random(f"{name}/{turn}"))
        proof = await prove(healthy, broken, containers)
        reasons[proof.reason and f"{proof.reason}: {proof.detail}"] += 1
        if not proof.reason:
            request = write_request(healthy, proof, random.Random(turn))
            assert proof.walks >= REPEATS
            assert find_leaks(request, healthy, broken) == []
            assert find_underivable(healthy, broken) == []
    assert reasons[""] >= len(SIZES) - 1, reasons
