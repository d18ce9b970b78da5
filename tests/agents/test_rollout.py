"""The rollout loop: three-valued ends, and policies that slip by seed."""

import random

import pytest

from envmill.agents import find_policy
from envmill.agents.base import Actor, Say
from envmill.agents.careless import mix_up
from envmill.agents.rollout import play_scenario
from envmill.sandbox import Observation, Sandbox
from schemas.environment import Call, Environment
from schemas.scenario import Scenario
from tests.specimens import LEND, PROGRAM, STATE, make_environment, make_scenario

in_one_loop = pytest.mark.asyncio(loop_scope="module")


class Stubborn:
    """Never stops."""

    name = "stubborn"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        return self

    def act(self, last: Observation | Say | None) -> Call | Say:
        return Call(name="list_tools")


@in_one_loop
async def test_the_reference_policy_passes_and_its_transcript_says_how(sandbox: Sandbox) -> None:
    shed = make_environment()
    rollout = await play_scenario(
        find_policy("reference"), make_scenario(shed), shed, sandbox, "probe", 0
    )
    assert (rollout.outcome, rollout.reward, rollout.steps, rollout.termination) == (
        "pass",
        1.0,
        2,
        "done",
    )
    assert [message["role"] for message in rollout.transcript] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert (
        rollout.transcript[5]["state_hash"]
        == rollout.final_state_hash
        != rollout.transcript[3]["state_hash"]
    )


@in_one_loop
async def test_a_rejected_call_is_the_policys_affair_and_a_crash_is_not(sandbox: Sandbox) -> None:
    shed = make_environment()
    refused = make_scenario(
        shed, oracle=[Call(name="lend", arguments={"tool_id": "T3", "member_id": "M1"})]
    )
    rollout = await play_scenario(find_policy("reference"), refused, shed, sandbox, "probe", 0)
    assert (rollout.outcome, rollout.reward, rollout.termination) == ("fail", 0.0, "done")
    broken = make_environment(PROGRAM.replace('key = new_id("loan")', "key = 1 / 0"))
    rollout = await play_scenario(
        find_policy("reference"), make_scenario(broken), broken, sandbox, "probe", 0
    )
    assert (rollout.outcome, rollout.reward, rollout.termination) == (
        "error",
        None,
        "environment_error",
    )


@in_one_loop
async def test_a_policy_that_never_stops_is_stopped(sandbox: Sandbox) -> None:
    shed = make_environment()
    rollout = await play_scenario(Stubborn(), make_scenario(shed), shed, sandbox, "probe", 0)
    assert (rollout.steps, rollout.termination, rollout.outcome) == (40, "step_limit", "fail")


@in_one_loop
async def test_the_careless_policy_slips_by_seed_and_the_same_seed_slips_the_same(
    sandbox: Sandbox,
) -> None:
    shed = make_environment()
    scenario = make_scenario(shed)
    first = [
        await play_scenario(find_policy("careless"), scenario, shed, sandbox, "probe", attempt)
        for attempt in range(24)
    ]
    again = [
        await play_scenario(find_policy("careless"), scenario, shed, sandbox, "probe", attempt)
        for attempt in range(24)
    ]
    assert first == again
    assert {rollout.outcome for rollout in first} == {"pass", "fail"}


@pytest.mark.parametrize("seed", range(5))
def test_a_mix_up_names_another_row_of_the_same_collection(seed: int) -> None:
    mixed = mix_up(LEND, STATE, random.Random(seed))
    assert mixed != LEND
    assert mixed.arguments["tool_id"] in STATE["tools"]
    assert mixed.arguments["member_id"] in STATE["members"]
