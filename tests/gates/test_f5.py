"""F5: the chance of variance against sums over single attempts, what siblings add to it, and what
it decides."""

import random

import pytest

from envmill.gates.f5 import (
    PRIOR,
    ProbeCounts,
    estimate_variance,
    find_untrainable,
    is_settled,
    pool_prior,
)
from tests.gates.specimens.filtering import UNTRAINABLE, make_probes


def count(
    outcomes: str, environment: str = "env_x", checkpoint: str = "openai:small"
) -> ProbeCounts:
    return ProbeCounts.of(environment, make_probes(outcomes, checkpoint))


@pytest.mark.parametrize(
    ("passed", "attempts", "group"), [(0, 4, 8), (2, 4, 8), (4, 4, 2), (7, 8, 5)]
)
def test_the_chance_is_that_of_drawing_one_after_another(
    passed: int, attempts: int, group: int
) -> None:
    all_pass = all_fail = 1.0
    for done in range(group):
        total = 1.0 + attempts + done
        all_pass *= (0.5 + passed + done) / total
        all_fail *= (0.5 + attempts - passed + done) / total
    assert estimate_variance(passed, attempts, group) == pytest.approx(1 - all_pass - all_fail)


@pytest.mark.parametrize("name", UNTRAINABLE)
def test_what_always_ends_alike_has_a_label_and_is_dropped_where_asked(name: str) -> None:
    own, others, reason = UNTRAINABLE[name]
    probed = {"scn_own": count(own + "e")} | {
        f"scn_{number}": count(one) for number, one in enumerate(others)
    }
    finding, dropped = (find_untrainable(probed, drops=drops)["scn_own"] for drops in (False, True))
    assert (dropped.outcome, dropped.reason) == ("dropped" if reason else "kept", reason), dropped
    assert (finding.outcome, finding.reason, finding.evidence.get("label", "")) == (
        "kept",
        "",
        reason,
    ), finding
    assert finding.evidence["attempts"] == len(own)
    assert find_untrainable(dict(reversed(probed.items()))) == find_untrainable(probed)


def test_siblings_are_those_of_one_environment_and_policy() -> None:
    alone = find_untrainable({"scn_own": count("ffff")})["scn_own"]
    others = {
        "scn_1": count("pppf", "env_y"),
        "scn_2": count("pppf", checkpoint="openai:large"),
        "scn_3": count("pfpf", "env_y"),
    }
    assert find_untrainable({"scn_own": count("ffff"), **others})["scn_own"] == alone
    assert alone.evidence["prior"] == list(PRIOR)


def test_a_script_decides_nothing_and_neither_do_errors() -> None:
    findings = find_untrainable({"scn_1": count("ffff", checkpoint=""), "scn_2": count("ee")})
    assert (findings["scn_1"].outcome, findings["scn_1"].reason) == (
        "not_applicable",
        "scripted_policy",
    )
    assert (findings["scn_2"].outcome, findings["scn_2"].reason) == ("not_measured", "no_probes")


def test_the_more_alike_siblings_are_the_more_they_say() -> None:
    alike, apart = pool_prior([count("pfpf")] * 8), pool_prior([count("pppp"), count("ffff")] * 4)
    assert alike[0] == pytest.approx(alike[1])
    assert sum(apart) == pytest.approx(1.0)
    assert sum(alike) > 2.5
    assert sum(pool_prior([count("pfpf")] * 3)) < sum(alike)


@pytest.mark.parametrize(
    ("rates", "gain"), [((10, 10), 0.6), ((2, 3), 0.8), ((8, 0.5), 0.9), ((0.5, 0.5), 1.3)]
)
def test_pooling_brings_the_chance_nearer_to_the_truth(
    rates: tuple[float, float], gain: float
) -> None:
    """In environments drawn from a known world; where rates of siblings say nothing, little is
    lost."""
    dice, pooled, alone = random.Random(3), 0.0, 0.0
    for _ in range(60):
        true = [dice.betavariate(*rates) for _ in range(6)]
        outcomes = [
            "".join("p" if dice.random() < rate else "f" for _ in range(4)) for rate in true
        ]
        findings = find_untrainable({str(place): count(one) for place, one in enumerate(outcomes)})
        for place, rate in enumerate(true):
            chance = 1 - rate**8 - (1 - rate) ** 8
            pooled += (findings[str(place)].evidence["variance"] - chance) ** 2
            alone += (estimate_variance(outcomes[place].count("p"), 4) - chance) ** 2
    assert pooled < gain * alone


@pytest.mark.parametrize(
    ("outcomes", "most", "settled"),
    [
        ("", 4, False),
        ("ffff", 8, False),
        ("pppp", 16, False),
        ("pf", 8, True),
        ("pf", 16, False),
        ("pfpf", 16, True),
        ("pppf", 8, True),
        ("ffff", 4, True),
        ("eeee", 4, False),
    ],
)
def test_attempts_end_when_the_rest_could_change_nothing(
    outcomes: str, most: int, settled: bool
) -> None:
    assert is_settled(make_probes(outcomes), most) is settled
