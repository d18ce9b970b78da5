"""S and F gates: what they must drop, and the near misses they must keep."""

from typing import Any

import pytest

from envmill.gates.f1 import require_solved
from envmill.gates.f4 import find_repeats
from envmill.gates.s1 import replay_oracle
from envmill.gates.s2 import attack, judge_rewards
from envmill.sandbox import Sandbox
from schemas.environment import Call
from schemas.rollout import Rollout
from schemas.scenario import Check, Verifier
from tests.specimens import LEND, PROGRAM, STATE, VERIFIER, make_environment, make_scenario


@pytest.mark.parametrize(
    ("oracle", "reason"),
    [
        ([Call(name="lend", arguments={"tool_id": "T3", "member_id": "M1"})], "oracle_rejected"),
        ([LEND, LEND], "oracle_rejected"),
        ([Call(name="borrow")], "oracle_rejected"),
        ([Call(name="list_tools")], "oracle_fails"),
        ([Call(name="lend", arguments={"tool_id": "T2", "member_id": "M1"})], "oracle_fails"),
    ],
)
async def test_s1_drops_an_oracle_that_is_rejected_or_fails(sandbox: Sandbox, oracle: list[Call], reason: str) -> None:
    shed = make_environment()
    finding = await replay_oracle(make_scenario(shed, oracle=oracle), shed, sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", reason)


@pytest.mark.parametrize(
    "oracle", [[LEND], [LEND, Call(name="list_tools")], [Call(name="get_member", arguments={"member_id": "M2"}), LEND]]
)
async def test_s1_keeps_every_right_oracle(sandbox: Sandbox, oracle: list[Call]) -> None:
    shed = make_environment()
    assert (await replay_oracle(make_scenario(shed, oracle=oracle), shed, sandbox)).outcome == "kept"


_FREE = Check(name="the saw is free", op="equals", path=["tools", "T2", "free"], value=True)
_ANY_LOAN = Check(name="some loan", op="present", path=["loans"], value={"$any": "object"})


@pytest.mark.parametrize(
    ("verifier", "reason"),
    [
        (VERIFIER.model_copy(update={"goals": [_FREE]}), "do_nothing_paid"),
        (VERIFIER.model_copy(update={"goals": [*VERIFIER.goals, _FREE], "partial": True}), "do_nothing_paid"),
        (Verifier(goals=[_ANY_LOAN], guards=[], frame=[["tools"], ["loans"]]), "attack_passes"),
    ],
)
async def test_s2_drops_a_verifier_that_pays_for_nothing_or_for_luck(sandbox: Sandbox, verifier: Verifier, reason: str) -> None:
    shed = make_environment()
    finding = await attack(make_scenario(shed, verifier=verifier), shed, sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", reason)


def wide_state(rows: int) -> dict[str, Any]:
    """Enough to choose from that luck is not enough."""
    return STATE | {
        "tools": {f"T{number}": {"name": f"tool {number}", "free": True} for number in range(rows)},
        "members": {f"M{number}": {"name": f"member {number}"} for number in range(rows)},
    }


async def test_s2_keeps_a_verifier_that_asks_for_one_thing_among_many(sandbox: Sandbox) -> None:
    shed = make_environment()
    finding = await attack(make_scenario(shed, initial_state=wide_state(40)), shed, sandbox)
    assert finding.outcome == "kept", finding
    assert finding.evidence["random_valid"] == [0.0] * 8


async def test_s2_drops_a_program_that_hangs_under_attack(sandbox: Sandbox) -> None:
    hanging = make_environment(PROGRAM.replace("return dict(self.members[member_id])", "while True: pass"))
    finding = await attack(make_scenario(hanging, initial_state=wide_state(40)), hanging, sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", "environment_fails")


@pytest.mark.parametrize(
    ("earned", "outcome"),
    [([0.0] * 8, "kept"), ([0.25] + [0.0] * 7, "kept"), ([0.26] + [0.0] * 7, "dropped"), ([0.16] * 8, "dropped"), ([0.15] * 8, "kept")],
)
def test_the_attack_threshold(earned: list[float], outcome: str) -> None:
    assert judge_rewards({"random_valid": earned}).outcome == outcome


def make_probe(outcome: str, attempt: int) -> Rollout:
    return Rollout.model_validate(
        {
            "scenario": "scn_x", "environment": "env_x", "policy": "careless", "rollout_group": "probe", "attempt": attempt, "seed": 1,
            "outcome": outcome, "reward": None if outcome == "error" else float(outcome == "pass"), "components": {}, "reason": "",
            "steps": 1, "termination": "done", "final_state_hash": "", "transcript": [],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["fail", "fail", "pass"], "kept"),
        (["error", "pass"], "kept"),
        (["pass"], "kept"),
        (["fail", "fail"], "dropped"),
        (["fail", "error"], "dropped"),
        (["fail"], "dropped"),
        (["error", "error"], "dropped"),
    ],
)
def test_f1_counts_only_judged_probes(outcomes: list[str], expected: str) -> None:
    assert require_solved([make_probe(outcome, number) for number, outcome in enumerate(outcomes)]).outcome == expected


def test_f4_drops_the_same_words_in_one_environment_only() -> None:
    shed, barn = make_environment(), make_environment(name="Barn", rules=["Another rule."])
    first = make_scenario(shed)
    again = make_scenario(shed, seed=8, request="please LEND the drill, to Ada!")
    elsewhere = make_scenario(barn)
    other = make_scenario(shed, request="Please lend the saw to Ada.")
    found = {key: finding.outcome for key, finding in find_repeats([again, first, elsewhere, other]).items()}
    assert sorted(found[one.id] for one in (first, again)) == ["dropped", "kept"]
    assert (found[elsewhere.id], found[other.id]) == ("kept", "kept")
