"""Groups of attempts: rounds of a fixed size, the same whoever answers first, and none after an
outage."""

import asyncio
import random
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.attempts import attempt, choose_form, make_player, require_reached
from envmill.base.errors import Outage
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from schemas.run import RunConfig
from tests.agents.talks import SHED, TALK
from tests.specimens import make_scenario

in_one_loop = pytest.mark.asyncio(loop_scope="module")


def make_rollout(number: int, outcome: Any = "pass", **more: Any) -> Rollout:
    """An attempt that ended so."""
    fields: dict[str, Any] = {
        "scenario": "scn_x", "environment": "env_x", "policy": "careless", "rollout_group": "probe", "attempt": number, "seed": 1,
        "outcome": outcome, "reward": None if outcome == "error" else 1.0, "components": {}, "reason": "", "steps": 1,
        "termination": "done", "final_state_hash": "", "transcript": [],
    }  # fmt: skip
    return Rollout.model_validate(fields | more)


class Player:
    """Attempts that end as written, each after another while."""

    def __init__(self, outcomes: str) -> None:
        self.outcomes, self.asked = outcomes, list[int]()
        self.dice = random.Random()

    async def __call__(self, number: int) -> Rollout:
        self.asked.append(number)
        await asyncio.sleep(self.dice.random() / 500)
        kind = self.outcomes[number]
        if kind == "!":
            raise ValueError("broken")
        if kind == "o":
            return make_rollout(number, "error", termination="outage", detail="nobody there")
        return make_rollout(number, {"p": "pass", "f": "fail", "e": "error"}[kind])


def both(made: Any) -> bool:
    return {"pass", "fail"} <= {one.outcome for one in made}


@pytest.mark.parametrize(
    ("outcomes", "first", "most", "made"),
    [
        pytest.param("pppfpppp", 0, 8, 4, id="enough after a round"),
        pytest.param("ppppfppp", 0, 8, 8, id="enough after two, the second whole"),
        pytest.param("pppppppp", 0, 6, 6, id="never enough"),
        pytest.param("eeeepfpp", 0, 8, 8, id="errors are not enough"),
        pytest.param("fpppfppp", 1, 7, 4, id="from a later number"),
        pytest.param("popppppp", 0, 8, 4, id="an outage ends it"),
    ],
)
async def test_attempts_are_made_in_rounds_until_they_are_enough(
    outcomes: str, first: int, most: int, made: int
) -> None:
    player = Player(outcomes)
    found = [one async for one in attempt(player, both, most, first=first)]
    assert (
        [one.attempt for one in found] == list(range(first, first + made)) == sorted(player.asked)
    )


async def test_a_broken_attempt_breaks_the_group_after_its_round() -> None:
    player = Player("p!pp")
    with pytest.raises(ValueError, match="broken"):
        [one async for one in attempt(player, both, 8)]
    assert sorted(player.asked) == [0, 1, 2, 3]


def test_what_could_not_be_reached_is_tried_again() -> None:
    require_reached([make_rollout(0), make_rollout(1, "error")])
    with pytest.raises(
        Outage, match="1 of 2 attempts at scn_x by careless broke off: nobody there"
    ):
        require_reached(
            [make_rollout(0), make_rollout(1, "error", termination="outage", detail="nobody there")]
        )


def test_a_run_says_in_which_form_it_asks() -> None:
    plain = make_scenario(SHED)
    forms = {
        form: [choose_form(RunConfig(form=form), TALK, number) for number in range(2)]
        for form in ("single", "conversation", "mixed")
    }
    assert forms == {
        "single": ["single"] * 2,
        "conversation": ["conversation"] * 2,
        "mixed": ["single", "conversation"],
    }
    assert choose_form(RunConfig(form="conversation"), plain, 1) == "single"


@in_one_loop
async def test_attempts_of_a_run_are_as_it_wants_them(sandbox: Sandbox) -> None:
    config = RunConfig(form="mixed", steps=7, tokens=90)
    play = make_player(find_policy("reference"), TALK, SHED, sandbox, "probe", None, config)
    made = [one async for one in attempt(play, lambda made: False, 2)]
    assert [(one.form, one.outcome, one.limits["steps"], one.limits["tokens"]) for one in made] == [
        ("single", "pass", 7, 90),
        ("conversation", "pass", 7, 90),
    ]
