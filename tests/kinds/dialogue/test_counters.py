"""What only counts how often the user tried something may change; nothing that means more may."""

import pytest

from envmill.agents.rescore import read_ending
from envmill.kinds.dialogue.counters import find_counters
from envmill.kinds.dialogue.plan import FILE
from envmill.sandbox import Sandbox
from envmill.verifiers.judge import judge
from schemas.environment import Environment
from tests.kinds.dialogue.test_recorded import PLACES, find

LABELS = ["device", "device", "labels"]
COUNTED = 'device["labels"] += 1'


def take(name: str) -> Environment:
    return next(found for place in PLACES if (found := find(place)[0]).name == name)


def change(environment: Environment, old: str, new: str, file: str = "") -> Environment:
    """With other words in one file: the program, if none is named."""
    name = file or next(path for path, text in environment.files.items() if COUNTED in text)
    assert old in environment.files[name]
    files = {**environment.files, name: environment.files[name].replace(old, new, 1)}
    return Environment.model_validate(environment.model_dump() | {"id": "", "files": files})


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("Label printer desk", [LABELS]),
        ("Office coffee desk", [["unit", "unit", "cups"]]),
        ("Hearing aid help desk", []),
        ("Alarm panel desk", []),
    ],
)
async def test_a_real_authors_counters_are_found(
    jail: Sandbox, name: str, paths: list[list[str]]
) -> None:
    assert await find_counters(take(name), jail) == paths


@pytest.mark.parametrize(
    "new",
    [
        pytest.param('device["labels"] += 2', id="not one each time"),
        pytest.param('device["labels"] = min(device["labels"] + 1, 18)', id="not each time"),
        pytest.param('device["labels"] += 1; device["roll"] += "x"', id="something else as well"),
        pytest.param('device["labels"] = device["labels"]', id="nothing"),
    ],
)
async def test_what_does_more_or_less_than_count_is_none(jail: Sandbox, new: str) -> None:
    assert await find_counters(change(take("Label printer desk"), COUNTED, new), jail) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('"device": "user"', '"device": "agent"', id="the agent's"),
        pytest.param('"name": "renew_licence"', '"name": "print_test"', id="a rule is about it"),
    ],
)
async def test_what_is_the_agents_or_bound_by_a_rule_is_none(
    jail: Sandbox, old: str, new: str
) -> None:
    desk = take("Label printer desk")
    spaced = old if old in desk.files[FILE] else old.replace(": ", ":")
    assert await find_counters(change(desk, spaced, new, FILE), jail) == []


async def test_trying_it_out_is_free_and_nothing_else_is(jail: Sandbox) -> None:
    """The two dialogues in which the user printed a label."""
    environment, scenario, rollout = next(
        one
        for one in map(find, PLACES)
        if one[0].name == "Label printer desk" and LABELS in one[1].verifier.frame
    )
    right = await read_ending(rollout, scenario, environment, jail)
    assert judge(scenario.verifier, right).outcome == "pass"
    frame = [path for path in scenario.verifier.frame if path != LABELS]
    narrow = scenario.verifier.model_copy(update={"frame": frame})
    assert judge(narrow, right).reason == "change outside the frame: set device.device.labels"
