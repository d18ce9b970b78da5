"""F5: the chance of variance against sums over single attempts, and what it decides."""

import pytest

from envmill.gates.f5 import estimate_variance, require_variance
from tests.gates.test_filter_gates import make_probe


@pytest.mark.parametrize(("passed", "attempts", "group"), [(0, 4, 8), (2, 4, 8), (4, 4, 2), (7, 8, 5)])
def test_the_chance_is_that_of_drawing_one_after_another(passed: int, attempts: int, group: int) -> None:
    all_pass = all_fail = 1.0
    for done in range(group):
        total = 1.0 + attempts + done
        all_pass *= (0.5 + passed + done) / total
        all_fail *= (0.5 + attempts - passed + done) / total
    assert estimate_variance(passed, attempts, group) == pytest.approx(1 - all_pass - all_fail)


@pytest.mark.parametrize(
    ("passed", "attempts", "outcome"),
    [(0, 8, "dropped"), (8, 8, "dropped"), (0, 16, "dropped"), (1, 8, "kept"), (4, 8, "kept"), (7, 8, "kept")],
)
def test_what_always_ends_alike_is_dropped(passed: int, attempts: int, outcome: str) -> None:
    probes = [make_probe("pass" if number < passed else "fail", number) for number in range(attempts)]
    finding = require_variance([*probes, make_probe("error", attempts)], scripted=False)
    assert (finding.outcome, finding.reason) == (outcome, "no_variance" if outcome == "dropped" else "")
    assert finding.evidence["attempts"] == attempts
    assert require_variance(probes, scripted=True).reason == "scripted_policy"


def test_without_a_judged_probe_nothing_is_measured() -> None:
    assert require_variance([make_probe("error", 0)], scripted=False).reason == "no_probes"
