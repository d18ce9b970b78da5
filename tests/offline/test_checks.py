"""A list of checks, heard in the jail: all say yes of the end asked for, and at least one says no
of any other."""

import json
from typing import Any

import pytest

from envmill.sandbox import Sandbox
from offline.faults import KINDS
from offline.faults.checking import list_ends, pair_lists
from offline.witness import Play, Trace, Witness, find_witness, observe
from offline.world import play_oracle
from schemas.environment import Call
from schemas.prompts import ChecksInput, ChecksReply
from tests.offline.faults.cases import ENVIRONMENTS, plant
from tests.offline.jail import JAIL
from tests.offline.questions import ask, ask_scenario, compose, pose_checks

PLACES = ENVIRONMENTS[:4]


def read(theme: str, number: int) -> tuple[ChecksInput, ChecksReply]:
    return ChecksInput.model_validate(pose_checks(theme, number)), ChecksReply.model_validate_json(
        ask("checks", theme, number)
    )


def say(plays: list[Play]) -> list[list[str]]:
    async def go(sandbox: Sandbox) -> list[list[str]]:
        return [json.loads((await observe(each, sandbox))[-1])[2][0]["value"] for each in plays]

    return JAIL.enter(go)


def hear(checks: ChecksReply, asked: ChecksInput, ends: list[Any]) -> list[list[bool]]:
    """What every check says of every end."""
    (version, _), *_ = pair_lists(list(checks.checks), list(checks.checks), asked)
    plays = [
        Play(
            version.version,
            Trace(
                {"initial": asked.initial_state, "final": end}, (Call(name="judge", arguments={}),)
            ),
        )
        for end in ends
    ]
    return [[said == "bool: True" for said in heard] for heard in say(plays)]


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_checks_hold_at_the_end_and_nowhere_else(theme: str, number: int) -> None:
    asked, reply = read(theme, number)
    ends = list_ends(asked)
    heard = hear(reply, asked, ends)
    for end, said in zip(ends, heard, strict=True):
        assert all(said) == (end == ends[0]), said
    *goals, guard = heard[1]
    assert not any(goals), "a goal that is true at the start is none"
    assert guard, "nothing else was changed yet"


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_checks_hold_on_another_day_and_with_other_ids(theme: str, number: int) -> None:
    asked, reply = read(theme, number)
    scenario = ask_scenario(theme, number, 0)
    elsewhere = play_oracle(
        compose(theme, number), asked.initial_state, scenario.oracle, 5, "elsewhere"
    )
    assert all(hear(reply, asked, [elsewhere])[0])


def test_every_mistake_in_checks_is_seen_in_the_jail() -> None:
    async def search(sandbox: Sandbox) -> dict[str, list[Witness | None]]:
        return {
            kind: [await find_witness(each.pairs, sandbox) for each in faults[:3]]
            for kind, faults in planted.items()
        }

    planted = {
        kind: [fault for place in ENVIRONMENTS if (fault := plant("checks", kind, *place))]
        for kind in KINDS["checks"]
    }
    seen = JAIL.enter(search)
    assert [kind for kind, found in seen.items() if not any(found)] == []
