"""inspect-ai on an exported folder, offline: five policies, conversations, outages, another solver,
logs read and scored again."""

import asyncio
import json
import math
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.transcript import list_tools
from envmill.base.settings import ROOT
from envmill.interop.consumers.inspect import CONSUMER, VERSIONS
from schemas.rollout import Rollout
from tests.interop.bundles.policies import Play
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import INSTALLING, SOAKING, open_locked_house, run_offline
from tests.interop.consumers.nights import RECIPES, Night, talk
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
PAGE = ROOT / "docs/consumers/inspect.md"
LEAST = 10
"""Environments of each kind."""
TALKS = 3
"""Conversations of each kind."""


@dataclass(frozen=True)
class Evaluated:
    """A night, and what inspect-ai made of it."""

    night: Night
    talks: list[Rollout]
    answers: dict[str, Any]
    versions: dict[str, str]


def _list_turns(play: Play) -> list[dict[str, Any]]:
    calls = [{"call": call.name, "arguments": call.arguments} for call in play.calls]
    return [*calls, *({"say": text} for text in play.said)]


def _list_said(rollout: Rollout) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
        calls = [
            {"call": call["name"], "arguments": call["arguments"]}
            for call in entry.get("tool_calls") or ()
        ]
        turns += calls or [{"say": entry["content"]}]
    return turns


def _choose_broken(night: Night) -> dict[str, list[dict[str, Any]]]:
    """Three rows that are solved: the jail dies before a call of the first, and before the last
    words of the second."""
    solved = [_list_turns(play) for play in night.plays if play.name == "oracle"]
    rows = [play.scenario.id for play in night.plays if play.name == "oracle"]
    early, late, whole = solved[:3]
    calls = [turn for turn in late if "call" in turn]
    last = {"say": " ".join(turn["say"] for turn in late if "say" in turn), "kill": True}
    return dict(
        zip(rows, ([early[0] | {"kill": True}, *early[1:]], [*calls, last], whole), strict=False)
    )


def _install(folder: Path, python: Path, site: Path) -> None:
    """As its users install it, but beside the environment, which other tests share."""
    shutil.copytree(folder, site.parent / "export")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
    ]
    done = subprocess.run(
        [*pip, "--target", str(site), str(site.parent / "export")],
        capture_output=True,
        text=True,
        timeout=INSTALLING,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def evaluated(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    talks = asyncio.run(talk(night, tmp_path_factory.mktemp("talks"), TALKS))
    spying, spied = make_spy()
    export_set = replace(
        night.export_set,
        environments=(*night.export_set.environments, spied),
        scenarios=(*night.export_set.scenarios, spying),
    )
    folder = write_consumer(CONSUMER, export_set, tmp_path_factory.mktemp("out"))
    python, site = open_locked_house("inspect"), tmp_path_factory.mktemp("home") / "site-packages"
    _install(folder, python, site)
    oracles = [play for play in night.plays if play.name == "oracle"]
    openings = Counter(play.scenario.request for play in oracles)
    opened = [play for play in oracles if openings[play.scenario.request] == 1][:3]
    asked = {
        "scripts": {
            name: {play.scenario.id: _list_turns(play) for play in night.plays if play.name == name}
            for name in dict.fromkeys(play.name for play in night.plays)
        },
        "talks": {f"{one.scenario}-conversation": _list_said(one) for one in talks},
        "broken": _choose_broken(night),
        "attack": {
            spying.id: [
                {"call": look["name"], "arguments": look["arguments"]}
                for look in list_looks(site, CONSUMER.package)
            ],
        },
        "clocked": [oracles[0].scenario.id, _list_turns(oracles[0])],
        "commands": [
            line
            for line in PAGE.read_text().split("```")[1].splitlines()
            if line.startswith("inspect ")
        ],
        "opened": [play.scenario.id for play in opened],
        "openings": {
            play.scenario.request: [
                {"call": [turn["call"], json.dumps(turn["arguments"])]} if "call" in turn else turn
                for turn in _list_turns(play)
            ]
            for play in opened
        },
    }
    answer = run_offline(python, Path(__file__).with_name("playing.py"), [str(site)], asked)
    return Evaluated(night, talks, answer["answers"], answer["versions"])


def test_the_version_is_the_one_that_the_folder_names(evaluated: Evaluated) -> None:
    assert evaluated.versions == VERSIONS


def test_five_policies_earn_in_inspect_s_loop_what_they_earn_natively(evaluated: Evaluated) -> None:
    plays = {(play.scenario.id, play.name): play for play in evaluated.night.plays}
    told = {(one["scenario"], one["name"]): one for one in evaluated.answers["scripts"]}
    assert told.keys() == plays.keys()
    for key, play in plays.items():
        assert told[key]["error"] == "", key
        metadata = told[key]["metadata"]
        assert (told[key]["value"], metadata["outcome"]) == (
            play.verdict.reward,
            play.verdict.outcome,
        ), key
        assert metadata["state_hash"] == play.state_hash, key
    kinds = Counter(play.environment.kind for play in plays.values() if play.name == "oracle")
    assert set(kinds) == {"stateful", "sql"}
    assert min(kinds.values()) >= LEAST, kinds


def test_the_model_is_shown_the_interface_with_every_parameter_described(
    evaluated: Evaluated,
) -> None:
    homes = {play.scenario.id: play.environment for play in evaluated.night.plays}
    for row, shown in evaluated.answers["shown"].items():
        expected = {tool["name"]: tool for tool in list_tools(homes[row])}
        assert [tool["name"] for tool in shown] == [*expected]
        for tool in shown:
            parameters = expected[tool["name"]]["parameters"]
            assert tool["description"] == expected[tool["name"]]["description"]
            assert tool["parameters"]["properties"].keys() == parameters["properties"].keys()
            assert tool["parameters"].get("required", []) == parameters.get("required", [])
            for name, schema in tool["parameters"]["properties"].items():
                assert schema["description"].startswith(
                    parameters["properties"][name]["description"]
                )


def test_conversations_go_as_in_the_factory(evaluated: Evaluated) -> None:
    assert len(evaluated.talks) == TALKS * len(RECIPES)
    told = {one["scenario"]: one for one in evaluated.answers["talks"]}
    for rollout in evaluated.talks:
        one = told[f"{rollout.scenario}-conversation"]
        assert (one["error"], one["value"], one["metadata"]["state_hash"]) == (
            "",
            rollout.reward,
            rollout.final_state_hash,
        )
        spoken = [
            entry["content"]
            for entry in rollout.transcript
            if entry["role"] == "user" and not entry.get("tool_calls")
        ]
        assert one["heard"] == spoken[: len(one["heard"])]
        assert len(one["heard"]) >= len(spoken) - 1


def test_a_program_that_looks_for_its_verifier_finds_nothing(evaluated: Evaluated) -> None:
    (told,) = evaluated.answers["attack"]
    assert len(told["replies"]) >= 7
    assert find_secrets(told["replies"]) == []
    assert all('"no: ' in reply for reply in told["replies"][:-1])
    assert (told["value"], told["error"]) == (0.0, "")


def test_an_outage_is_the_sample_s_error_and_no_score(evaluated: Evaluated) -> None:
    """The means are those of the two samples that were judged. A score of 0 would make them two
    thirds."""
    told = evaluated.answers["broken"]
    early, late, whole = (told["samples"][row] for row in _choose_broken(evaluated.night))
    assert "Nothing was found out about the model" in early["error"]
    assert early["value"] is None
    assert [(one["error"], one["value"]) for one in (late, whole)] == [("", 1.0), ("", 1.0)]
    assert told["counted"] == [{"mean": 1.0, "scored": 2}] * 2


def test_another_solver_plays_requests_and_no_conversations(evaluated: Evaluated) -> None:
    *requests, talked = evaluated.answers["agent"]
    assert {(one["error"], one["value"]) for one in requests} == {("", 1.0)}
    assert "-T forms=single" in talked["error"]
    assert talked["value"] is None


def test_the_page_s_commands_run(evaluated: Evaluated) -> None:
    """The task by its registered name with a provider of inspect's own; then its log is scored once
    more, without a model."""
    first, again = evaluated.answers["commands"]
    assert (first["code"], again["code"]) == (0, 0), (first["said"], again["said"])
    assert first["scores"] == [{"passed": 1.0}] * 3
    assert again["scores"] == [{"passed": 1.0}] * 3


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("unknown scenario", "There is no scenario 'scn_9'"),
        ("unknown split", "There is no split 'dev'"),
        ("no row", "No row of split test and form monologue"),
        ("no folder", "cannot be read"),
    ],
)
def test_a_mistake_is_answered_clearly(evaluated: Evaluated, mistake: str, words: str) -> None:
    assert words in evaluated.answers["mistakes"][mistake]


def test_logs_hold_nothing_of_the_verifier(evaluated: Evaluated) -> None:
    """What a sample keeps is moves, hashes and the outcome."""
    for one in evaluated.answers["scripts"]:
        assert {name.partition(":")[2] for name in one["store"]} == {
            "instance", "scenario", "moves", "state_hash", "ended", "talks", "outage",
        }  # fmt: skip
        assert one["metadata"].keys() == {"outcome", "state_hash", "components"}


def test_what_a_step_costs_is_measured(evaluated: Evaluated) -> None:
    """Beside a tool that answers a constant. docs/consumers/inspect.md has the numbers."""
    told = evaluated.answers["clock"]
    assert all(
        math.isfinite(cost) and 0 < cost < 1000
        for costs in told.values()
        for cost in costs.values()
    ), told
    sys.stderr.write(f"inspect, ms a step: {told}\n")


def test_the_page_names_two_commands() -> None:
    assert len(re.findall(r"^inspect (eval|score) ", PAGE.read_text(), re.MULTILINE)) == 2
