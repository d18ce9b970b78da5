"""Rules that cannot both be meant are found, and rules about several things of a kind are not."""

import pytest

from envmill.kinds.authoring.rules import find_rival_rules


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "A case is adjourned at most 2 times.",
            "A case is adjourned at most 4 times.",
            id="at most",
        ),
        pytest.param(
            "Tools worth 200 euros or more are insured.",
            "Tools worth 202 euros or more are insured.",
            id="or more",
        ),
        pytest.param("Days are from 1 to 14.", "days are from 3 to 14.", id="a range"),
        pytest.param(
            "Fees are 300 euros at least.", "Fees are 302 euros at least.", id="at least, behind"
        ),
    ],
)
def test_the_same_rule_with_another_limit_is_found(one: str, other: str) -> None:
    assert list(find_rival_rules([one, "Members are active.", other])) == [(one, other)]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(
            ["Berth 3 takes at most 2 ships.", "Berth 4 takes at most 2 ships."],
            id="numbers that name",
        ),
        pytest.param(
            ["From 7 days on 5 euros are due.", "From 14 days on 10 euros are due."],
            id="steps of a scale",
        ),
        pytest.param(
            ["At most 2 tools are lent.", "At most 2 tools are reserved."], id="other words"
        ),
        pytest.param(["At most 2 tools are lent.", "At most 2 tools are lent."], id="said again"),
    ],
)
def test_rules_that_can_all_be_kept_are_let_be(rules: list[str]) -> None:
    assert list(find_rival_rules(rules)) == []
