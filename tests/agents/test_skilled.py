"""The skilled policy: right to a degree, the same by seed, and wrong where there is much to
confuse."""

import random
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.skilled import Skilled, find_hazard, misstate, slip
from envmill.base.errors import SettingsError
from schemas.environment import Call
from schemas.scenario import Scenario
from tests.specimens import LEND, STATE, make_environment, make_scenario

SHED = make_environment()
SCENARIO = make_scenario(SHED, say="Lent on 12 March.")


def play(policy: Any, scenario: Scenario, seed: int) -> list[Any]:
    """Its moves to the end."""
    actor, moves = policy.begin(scenario, SHED, seed), list[Any]()
    while not moves or isinstance(moves[-1], Call):
        moves.append(actor.act(None))
    return moves


def count_right(degree: float, scenario: Scenario = SCENARIO, seeds: int = 400) -> int:
    right = play(find_policy("reference"), scenario, 0)
    wrong_at = [play(Skilled(degree), scenario, seed) for seed in range(seeds)]
    return sum([one for one in moves if one in right] == right for moves in wrong_at)


def test_more_skill_is_right_more_often() -> None:
    rights = [count_right(degree) for degree in (0.0, 0.4, 0.7, 0.9, 1.0)]
    assert rights == sorted(rights)
    assert rights[0] < 300
    assert rights[-1] == 400


def test_the_same_seed_slips_the_same() -> None:
    first, again = [[play(Skilled(0.5), SCENARIO, seed) for seed in range(40)] for _ in range(2)]
    assert first == again
    assert len({str(one) for one in first}) > 3


def test_there_is_more_to_confuse_among_more_rows() -> None:
    crowded = SCENARIO.initial_state | {
        "tools": {f"T{number}": STATE["tools"]["T1"] for number in range(200)}
    }
    assert (
        find_hazard(LEND, make_scenario(SHED, initial_state=crowded), False)
        > find_hazard(LEND, SCENARIO, False)
        > 0
    )
    assert find_hazard(LEND, SCENARIO, True) < find_hazard(LEND, SCENARIO, False)
    long = make_scenario(SHED, oracle=[LEND] * 20)
    assert find_hazard(LEND, long, False) < find_hazard(LEND, SCENARIO, False)


@pytest.mark.parametrize("seed", range(12))
def test_a_slip_is_never_the_right_call(seed: int) -> None:
    paid = Call(name="lend", arguments=LEND.arguments | {"days": 3})
    assert paid not in slip(paid, SCENARIO, random.Random(seed))


def test_wrong_last_words_are_wrong() -> None:
    said = {misstate("Lent on 12 March.", random.Random(seed)) for seed in range(30)}
    assert "Lent on 12 March." not in said
    assert len(said) > 3


@pytest.mark.parametrize("name", ["skilled@0.7", "skilled@1", "reference", "careless", "model"])
def test_policies_are_found_by_name(name: str) -> None:
    assert find_policy(name).name == name


@pytest.mark.parametrize(
    "name", ["skilled", "skilled@2", "skilled@x", "careless@0.5", "clever", ""]
)
def test_what_is_no_policy_is_told_so(name: str) -> None:
    with pytest.raises(SettingsError, match=r"skilled@0\.7"):
        find_policy(name)
