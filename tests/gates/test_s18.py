"""S18: in a scenario's own world, calls off its path are answered; what only that world breaks is
found there alone."""

from copy import deepcopy

import pytest

from envmill.gates import GATES
from envmill.gates.base import GateContext
from envmill.sandbox import Sandbox
from tests.gates.specimens import pose, vary
from tests.gates.specimens.faults import DROPPED
from tests.gates.specimens.pieces import BOOKINGS
from tests.gates.specimens.studio import STATE

pytestmark = pytest.mark.asyncio(loop_scope="module")
GATE = GATES["S18"]
SHARES = (BOOKINGS, f"share = 100 / (member['balance'] - 777)\n        {BOOKINGS}")
"""Nobody in the stored tests has 777 on the account."""
DOUBTED = [one for one in DROPPED["W13"] if one[1] not in ("internal_text", "unresolved_id")]
"""Its own specimen of the first answers ids that do not exist, which no world has: W13 asks with
those."""
UNRESOLVED = [one for one in DROPPED["W13"] if one[1] == "unresolved_id"]


def fill_an_account() -> dict[str, dict[str, dict[str, object]]]:
    state = deepcopy(STATE)
    state["members"]["M9"] = {
        **next(iter(state["members"].values())),
        "id": "M9",
        "name": "Cleo Roth",
        "balance": 777,
    }
    return state


async def test_a_program_that_breaks_on_the_records_of_a_scenario_is_found_there(
    sandbox: Sandbox,
) -> None:
    means, built = GateContext(sandbox), vary(SHARES)
    assert (await GATES["W13"].check(built, means)).outcome == "kept"
    assert (await GATE.check(pose(built=built), means)).outcome == "kept"
    found = await GATE.check(pose(built=built, initial_state=fill_an_account()), means)
    assert (found.outcome, found.reason, GATE.classify(found.reason)) == (
        "dropped",
        "breaks",
        "proof",
    ), found
    assert "list_bookings" in found.detail


async def test_the_same_records_are_no_fault_where_the_program_bears_them(sandbox: Sandbox) -> None:
    for state in (STATE, fill_an_account()):
        found = await GATE.check(pose(initial_state=state), GateContext(sandbox))
        assert found.outcome == "kept", found


@pytest.mark.parametrize(("name", "reason", "swaps"), DOUBTED, ids=[name for name, *_ in DOUBTED])
async def test_what_w13_doubts_is_doubted_in_the_world_of_a_scenario(
    name: str, reason: str, swaps: tuple, sandbox: Sandbox
) -> None:
    found = await GATE.check(pose(built=vary(*swaps)), GateContext(sandbox))
    assert reason in {one.reason for one in found.spread()}, (name, found)
    assert {GATE.classify(one.reason) for one in found.spread()} == {"suspicion"}


@pytest.mark.parametrize(
    ("name", "reason", "swaps"), UNRESOLVED, ids=[name for name, *_ in UNRESOLVED]
)
async def test_what_no_tool_tells_is_left_to_w13(
    name: str, reason: str, swaps: tuple, sandbox: Sandbox
) -> None:
    """Nine of 100 honest scenarios of a recipe were doubted for it: the tool that tells it was not
    among the calls of their worlds."""
    built = vary(*swaps)
    assert reason in {
        one.reason for one in (await GATES["W13"].check(built, GateContext(sandbox))).spread()
    }, name
    assert reason not in {
        one.reason for one in (await GATE.check(pose(built=built), GateContext(sandbox))).spread()
    }
