"""A small export set for exporters: two environments, scenarios of every split, trajectories and a
pair."""

from typing import Any

from envmill.interop.exporters import ExportSet, StepCount
from schemas.environment import Environment
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Bounds, Scenario, UserContract
from tests.specimens import make_environment, make_scenario, make_tests

CALL = {"id": "call_1", "name": "lend", "arguments": {"tool_id": "T1", "note": "ü"}}
TOOLS = [
    {"name": "lend", "description": "Lend.", "parameters": {"type": "object", "properties": {}}}
]
ASKED = {"role": "user", "content": "Lend it."}
DONE = {"role": "assistant", "content": "Done."}
CALLED = [
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": {"ok": True, "parts": []}},
]


def make_trajectory(rollout: str, **changes: Any) -> Trajectory:
    fields: dict[str, Any] = {
        "rollout": rollout,
        "scenario": "scn_x",
        "environment": "env_x",
        "policy": "reference",
        "messages": [ASKED, *CALLED, DONE],
        "tools": TOOLS,
        "loss": [False, True, False, True],
        "state_hashes": ["a"],
        "reward": 1.0,
        "licence": "Apache-2.0",
    }
    return Trajectory.model_validate(fields | changes)


def make_pair(scenario: Scenario) -> Pair:
    return Pair(
        chosen="rol_1", rejected="rol_2", scenario=scenario.id, environment=scenario.environment, policy="careless",
        shared=[ASKED], better=[*CALLED, DONE], better_loss=[True, False, True], worse=[DONE], worse_loss=[True],
        tools=TOOLS, margin=1.0, split=scenario.split, licence="Apache-2.0",
    )  # fmt: skip


def make_export_set(homes: tuple[Environment, ...] = ()) -> ExportSet:
    """Of unequal tools, so that a reader that merges shapes is seen."""
    shed, barn = homes or (
        make_environment(),
        make_environment(name="Barn", policy_document="Be brief.", rules=[]),
    )
    user = UserContract(opening="I need a drill.", facts={"member": "Ada"}, hidden=["member"])
    bounds = Bounds(false_accept=0.02, false_accept_n=150, false_reject=0.1, false_reject_n=28)
    scenarios = (
        make_scenario(shed, bounds=bounds),
        make_scenario(shed, number=1, user=user),
        make_scenario(barn, split="validation"),
        make_scenario(barn, number=1, split="test"),
    )
    trajectories = tuple(
        make_trajectory(
            f"rol_{number}", scenario=one.id, environment=one.environment, split=one.split
        )
        for number, one in enumerate(scenarios)
    )
    return ExportSet(
        environments=(shed, barn),
        tests=tuple(make_tests(shed)),
        scenarios=scenarios,
        trajectories=trajectories,
        pairs=(make_pair(scenarios[0]),),
        counts=(StepCount("scenarios-build", 4, 2, {"does_not_build": 2}, 1200, 0.25),),
    )
