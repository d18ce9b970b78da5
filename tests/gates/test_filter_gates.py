"""F1 and F2, and the threshold that attackers are held to: what they must drop, and the near misses
they must keep."""

import pytest

from envmill.gates.f1 import require_solved
from envmill.gates.f2 import require_challenge
from envmill.gates.s2 import judge_rewards
from tests.gates.specimens.filtering import SOLVED, TRIVIAL, make_probes


@pytest.mark.parametrize(
    ("earned", "outcome"),
    [
        ([0.0] * 8, "kept"),
        ([0.25] + [0.0] * 7, "kept"),
        ([0.26] + [0.0] * 7, "dropped"),
        ([0.16] * 8, "dropped"),
        ([0.15] * 8, "kept"),
    ],
)
def test_the_attack_threshold(earned: list[float], outcome: str) -> None:
    assert judge_rewards({"random_valid": earned}).outcome == outcome


@pytest.mark.parametrize("name", SOLVED)
def test_f1_counts_only_judged_probes(name: str) -> None:
    outcomes, reason = SOLVED[name]
    finding = require_solved(make_probes(outcomes))
    assert (finding.outcome, finding.reason) == ("dropped" if reason else "kept", reason)
    if reason in ("", "unsolved"):
        assert finding.evidence["policy"] == "openai:small"


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ("ppuu", "user_fails"),
        ("pppu", ""),
        ("ppppppppuu", ""),
        ("pppppppuu", "user_fails"),
        ("ppee", ""),
    ],
)
def test_f1_drops_a_scenario_whose_user_spoils_more_than_a_fifth(
    outcomes: str, reason: str
) -> None:
    assert require_solved(make_probes(outcomes, form="conversation")).reason == reason


@pytest.mark.parametrize("name", TRIVIAL)
def test_f2_labels_what_a_weak_policy_always_solves_and_drops_it_where_asked(name: str) -> None:
    outcomes, most, reason = TRIVIAL[name]
    dropped, kept = (
        require_challenge(make_probes(outcomes), most, drops=drops) for drops in (True, False)
    )
    assert (dropped.outcome, dropped.reason) == ("dropped" if reason else "kept", reason)
    assert (kept.outcome, kept.reason, kept.evidence.get("label", "")) == ("kept", "", reason)


def test_f2_says_nothing_by_scripts_and_by_few_attempts() -> None:
    assert require_challenge(make_probes("pppp", checkpoint=""), 1.0).outcome == "not_applicable"
    assert require_challenge(make_probes("pppe"), 1.0).reason == "too_few_attempts"
    assert require_challenge(make_probes("eeee"), 1.0).reason == "too_few_attempts"
