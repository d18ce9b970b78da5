"""F4: which of two scenarios is a repeat of the other."""

import random

import pytest

from envmill.gates.f4 import find_repeats
from tests.gates.specimens.filtering import LONG, REPEATS, ask


@pytest.mark.parametrize("name", REPEATS)
def test_of_two_alike_the_first_in_id_order_is_kept(name: str) -> None:
    one, other, reason = REPEATS[name]
    findings = find_repeats([one, other])
    assert find_repeats([other, one]) == findings
    first, second = sorted([one.id, other.id])
    assert findings[first].outcome == "kept"
    assert (findings[second].outcome, findings[second].reason) == ("dropped" if reason else "kept", reason)
    if reason:
        assert findings[second].evidence["twin"] == first


def test_among_hundreds_each_repeat_is_found_in_any_order() -> None:
    """The index of candidates is drawn by chance, its outcome is not."""
    dice = random.Random(7)
    words = LONG.split()
    requests = [" ".join(dice.sample(words, len(words))) for _ in range(150)]
    some = [ask(request) for request in requests] + [ask(f"{request} Thanks.") for request in requests]
    findings = find_repeats(some)
    assert sum(finding.reason == "near_repeat" for finding in findings.values()) == 150
    dice.shuffle(some)
    assert find_repeats(some) == findings
