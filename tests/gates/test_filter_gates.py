"""F gates: what they must drop, and the near misses they must keep."""

import pytest

from envmill.gates.f1 import require_solved
from envmill.gates.f4 import find_repeats
from envmill.gates.s2 import judge_rewards
from schemas.rollout import Rollout
from tests.specimens import make_environment, make_scenario


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
