"""OpenEnv's client, server and validator on an exported folder, offline: five policies,
conversations, MCP, a full server, its guard."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.transcript import list_tools
from envmill.base.settings import ROOT
from envmill.interop.consumers.openenv import CONSUMER, VERSIONS
from schemas.rollout import Rollout
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import SOAKING, open_locked_house, run_offline
from tests.interop.consumers.nights import RECIPES, Night, talk
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
PAGE = ROOT / "docs/consumers/openenv.md"
LEAST = 10
"""Environments of each kind."""
TALKS = 3
"""Conversations of each kind."""


@dataclass(frozen=True)
class Served:
    """A night, and what OpenEnv made of it."""

    night: Night
    talks: list[Rollout]
    answers: dict[str, Any]
    versions: dict[str, str]


def _list_moves(rollout: Rollout) -> list[dict[str, Any]]:
    moves: list[dict[str, Any]] = []
    for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
        calls = [
            {"tool": call["name"], "arguments": call["arguments"]}
            for call in entry.get("tool_calls") or ()
        ]
        moves += calls or [{"say": entry["content"]}]
    return moves


@pytest.fixture(scope="module")
def served(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Served:
    talks = asyncio.run(talk(night, tmp_path_factory.mktemp("talks"), TALKS))
    spying, spied = make_spy()
    export_set = replace(
        night.export_set,
        environments=(*night.export_set.environments, spied),
        scenarios=(*night.export_set.scenarios, spying),
    )
    folder = write_consumer(CONSUMER, export_set, tmp_path_factory.mktemp("out"))
    scripts = night.list_scripts()
    clocked = next(
        scenario for scenario, played in scripts.items() if played[0]["split"] == "train"
    )
    asked = {
        "scripts": scripts,
        "talks": [[f"{one.scenario}-conversation", _list_moves(one)] for one in talks],
        "clocked": [clocked, scripts[clocked][0]],
        "attack": [spying.id, list_looks(folder, CONSUMER.package)],
        "page": re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0],
    }
    answer = run_offline(
        open_locked_house("openenv"), Path(__file__).with_name("playing.py"), [str(folder)], asked
    )
    return Served(night, talks, answer["answers"], answer["versions"])


def test_the_version_is_the_one_that_the_folder_names(served: Served) -> None:
    assert served.versions == VERSIONS


def test_five_policies_earn_over_the_wire_what_they_earn_natively(served: Served) -> None:
    plays = {(play.scenario.id, play.name): play for play in served.night.plays}
    told = {(one["scenario"], one["name"]): one for one in served.answers["scripts"]}
    assert told.keys() == plays.keys()
    for key, play in plays.items():
        one = told[key]
        assert (one["reward"], one["outcome"], one["done"]) == (
            play.verdict.reward,
            play.verdict.outcome,
            True,
        ), key
        assert one["state_hash"] == play.state_hash, key
        assert one["tools"] == sorted(tool["name"] for tool in list_tools(play.environment))
        assert one["first"][-1] == {"role": "user", "content": play.scenario.request}
    kinds = Counter(play.environment.kind for play in plays.values() if play.name == "oracle")
    assert set(kinds) == {"stateful", "sql"}
    assert min(kinds.values()) >= LEAST, kinds


def test_conversations_go_as_in_the_factory(served: Served) -> None:
    assert len(served.talks) == TALKS * len(RECIPES)
    for rollout, told in zip(served.talks, served.answers["talks"], strict=True):
        assert (told["reward"], told["state_hash"]) == (rollout.reward, rollout.final_state_hash)
        spoken = [
            entry["content"]
            for entry in rollout.transcript
            if entry["role"] == "user" and not entry.get("tool_calls")
        ]
        assert spoken[1:] == [answer for answer in told["heard"] if answer][: len(spoken) - 1]


def test_the_mcp_route_lists_and_calls_the_same_tools(served: Served) -> None:
    told = served.answers["mcp"]
    play = next(
        one
        for one in served.night.plays
        if one.name == "oracle" and one.environment.id == _clocked(served)
    )
    assert dict(told["tools"]) == {
        tool["name"]: tool["parameters"] for tool in list_tools(play.environment)
    }
    assert (told["reward"], told["done"]) == (1.0, True)
    assert all(reply is not None for reply in told["replies"])
    assert "Send reset" in told["early"]
    assert told["unknown"] == "Tool not found: no_such_tool"


def _clocked(served: Served) -> str:
    return next(
        played[0]["environment"]
        for played in served.night.list_scripts().values()
        if played[0]["split"] == "train"
    )


def test_a_program_that_looks_for_its_verifier_finds_nothing(served: Served) -> None:
    told = served.answers["attack"]
    assert len(told) >= 7
    assert find_secrets(told) == []
    assert all('"no: ' in reply for reply in told[:-1])


def test_an_outage_is_no_reward_and_the_next_episode_has_another_jail(served: Served) -> None:
    told = served.answers["breaks"]
    assert (told["done"], told["reward"], told["outcome"]) == (True, None, "error")
    assert told["again"].startswith("scn_")
    assert told["next"] == 0.0


def test_the_page_s_code_runs_as_it_stands(served: Served) -> None:
    lines = served.answers["page"].splitlines()
    assert lines[0].startswith("scn_")
    assert lines[-1].startswith("True 0.0 ")


def test_an_episode_is_branched_from_each_of_its_turns(served: Served) -> None:
    told = served.answers["branch"]
    assert told["turns"] > 3
    assert (told["reward"], told["unlike"]) == (1.0, [])
    assert "has come to turn 0, and 1 is none of them" in told["early"]
    assert "no episode 'no such episode' to branch from" in told["unknown"]


def test_turns_are_logged_when_asked_and_the_reward_stays(served: Served) -> None:
    told = served.answers["log"]
    assert told["plain"]["reward"] == told["logged"]["reward"] == 1.0
    assert "turns" not in told["plain"]["metadata"]
    turns = told["logged"]["metadata"]["turns"]
    calls = len(told["hashes"])
    assert [one["state_hash"] for one in turns[:calls]] == told["hashes"]
    assert [one["outcome"] for one in turns[:calls]] == ["ok"] * calls
    assert [one["outcome"] for one in turns[calls:]] in ([], [""]), "empty last words are no turn"
    assert any(one["goals_met"] for one in turns)
    assert not any(one["guards_broken"] for one in turns)


def test_metrics_need_the_token_and_a_client_that_vanishes_is_no_session_any_more(
    served: Served,
) -> None:
    told = served.answers["metrics"]
    assert told["refused"] == 401
    assert (told["held"], told["left"]) == (1, 0)
    wanted = (
        'answers_total{kind="reset"}',
        'latency_seconds{kind="score",quantile="0.99"}',
        'verdicts_total{kind="pass"}',
        "quarantined",
    )
    assert {f"envmill_{name}" for name in wanted} <= set(told["found"])


def test_a_full_server_says_so_and_loses_nothing(served: Served) -> None:
    told = served.answers["full"]
    assert len(told["begun"]) == 8
    assert "8/8 sessions active" in told["ninth"]
    assert told["still"] == [True] * 8
    assert told["again"] == told["begun"][0]


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("step first", "No scenario is running"),
        ("unknown scenario", "There is no scenario 'scn_9'"),
        ("other environment", "not env_9"),
        ("unknown split", "Split 'dev' has 0 scenarios"),
        ("unknown index", "100000 is none of them"),
        ("long", "message too big"),
    ],
)
def test_a_mistake_is_answered_clearly(served: Served, mistake: str, words: str) -> None:
    assert words in served.answers["mistakes"][mistake]
    assert served.answers["mistakes"]["goes on"].startswith("scn_")


def test_who_is_let_in(served: Served) -> None:
    told = served.answers["guard"]
    assert [told[name][0] for name in ("no token", "wrong token", "origin")] == [401, 401, 403]
    assert (told["token"], told["health"][0], told["mcp"]) == (200, 200, 401)
    assert told["health"][1]["status"] == "healthy"
    assert told["long"] in (413, 0)
    assert "HTTP 401" in told["socket"]
    assert served.answers["other host"][0] == 403
    assert served.answers["open to all"]["code"] == 2
    assert "set ENVMILL_OPENENV_TOKEN" in served.answers["open to all"]["said"]


def test_openenv_validates_the_folder_and_the_server(served: Served) -> None:
    for target in ("folder", "url"):
        assert served.answers["valid"][target]["code"] == 0, served.answers["valid"][target]["said"]
        assert "FAIL" not in served.answers["valid"][target]["said"]
    assert "PASS  static.manifest" in served.answers["valid"]["folder"]["said"]


def test_the_task_routes_list_the_splits(served: Served) -> None:
    status, splits = served.answers["splits"]
    assert status == 200
    assert {one["name"] for one in splits} == {
        one.split for one in served.night.export_set.scenarios
    }


def test_what_a_step_costs_is_measured(served: Served) -> None:
    """Beside an environment that does nothing. docs/consumers/openenv.md has the numbers."""
    told = served.answers["clock"]
    assert 0 < told["bare"]["step_ms"] < 1000
    assert 0 < told["envmill"]["step_ms"] < 1000
