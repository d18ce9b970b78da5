"""Dialogues of a real author, with a real model at the desk and another one that played the user.

`recorded.json.xz` holds the environments, scenarios and attempts of four runs of recipe `tau2`. All
attempts are right work. Eight were refused at first. In six an answer said yes and told of a thing
in one message, said that something else is not done or that nothing shall break, or answered one of
six points. In two the user printed a test label, which the printer counts.
"""

import json
import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.rescore import read_ending, rescore
from envmill.kinds.dialogue.counters import find_counters
from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from envmill.verifiers.diff import diff_states
from envmill.verifiers.judge import judge
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.scenario import Scenario

RECORDED = Path(__file__).with_name("recorded.json.xz")
PLACES = range(26)


@cache
def read_recorded() -> dict[str, Any]:
    return json.loads(lzma.decompress(RECORDED.read_bytes()))


def find(place: int) -> tuple[Environment, Scenario, Rollout]:
    rows = read_recorded()
    rollout = Rollout.model_validate(rows["rollouts"][place])
    scenario = next(row for row in rows["scenarios"] if row["id"] == rollout.scenario)
    environment = next(row for row in rows["environments"] if row["id"] == rollout.environment)
    return Environment.model_validate(environment), Scenario.model_validate(scenario), rollout


@pytest.mark.parametrize("place", PLACES)
async def test_right_work_is_paid(jail: Sandbox, place: int) -> None:
    environment, scenario, rollout = find(place)
    again = await rescore(rollout, scenario, environment, jail)
    assert (again.verdict.outcome, again.verdict.reward) == ("pass", 1.0), again.verdict.reason


@pytest.mark.parametrize("place", PLACES)
async def test_without_the_yes_it_is_not(jail: Sandbox, place: int) -> None:
    """Where a clause asks for consent, and nowhere else."""
    environment, scenario, rollout = find(place)
    ending = await read_ending(rollout, scenario, environment, jail)
    asked = {one.call.name for one in scenario.verifier.procedure if one.op == "agreed"}
    bound = any(deed.call.name in asked and deed.outcome == "ok" for deed in ending.deeds)
    refused = replace(ending, answers=["No, please do not." for _ in ending.answers or ()])
    verdict = judge(scenario.verifier, refused)
    assert verdict.outcome == ("fail" if bound else "pass")
    assert verdict.components["procedure"] == (0.0 if bound else 1.0)


@pytest.mark.parametrize("place", PLACES)
async def test_a_dialogue_without_one_of_its_changes_is_not_paid(jail: Sandbox, place: int) -> None:
    """Each change of either side is left out in turn. Where the end is another one, trying out apart,
    the dialogue fails."""
    environment, scenario, rollout = find(place)
    right = await read_ending(rollout, scenario, environment, jail)
    counted = await find_counters(environment, jail)
    changes = {tool.name for tool in environment.tools if tool.effect == "change"}
    wrong, paid = 0, list[str]()
    for number, deed in enumerate(right.deeds):
        if deed.call.name not in changes or deed.outcome != "ok":
            continue
        deeds = [one for other, one in enumerate(right.deeds) if other != number]
        calls = [one.call for one in deeds]
        trial = await try_calls(scenario, environment, jail, calls, right.said)
        assert trial.ending is not None
        differs = diff_states(right.final, trial.ending.final)
        if all(change.path in counted for change in differs):
            continue
        wrong += 1
        left = replace(right, final=trial.ending.final, deeds=deeds)
        if judge(scenario.verifier, left).outcome == "pass":
            paid.append(deed.call.name)
    assert wrong
    assert paid == []
