"""Sessions as consumers get them, out of an exported folder and by a bare interpreter: rewards and
end states are those of the factory."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.log import MALFORMED
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.interop.consumers.sessions import JailError, SetError, open_set, render_reply
from envmill.interop.consumers.sessions.calls import MALFORMED as TOLD
from envmill.interop.consumers.sessions.calls import read_arguments
from envmill.interop.exporters import ExportSet
from envmill.models.dialect import read_call
from envmill.runtime.jail.layers import LAYERS
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from schemas.scenario import Scenario
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.consumers.folders import BARE, find_scenarios, make_export_set, write_consumer
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.specimens import VERIFIER, make_environment, make_scenario

PATIENCE = 300


@dataclass(frozen=True)
class Ground:
    """What was played in the factory, and the folder to play it again in."""

    plays: Sequence[Play]
    talks: Sequence[tuple[Scenario, Rollout]]
    folder: Path


def play(folder: Path, asked: list[list[Any]]) -> list[dict[str, Any]]:
    """What a bare interpreter makes of it."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        str(Path(__file__).with_name("stranger.py")),
        str(folder),
        BARE.package,
    ]
    done = subprocess.run(
        command,
        env={},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ours"] == []
    return report["told"]


async def _play_all(home: Path) -> tuple[list[Play], list[tuple[Scenario, Rollout]], ExportSet]:
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(home)})) as jail:
        found = await find_scenarios(jail)
        plays = [
            one for scenario, home in found for one in await play_natively(scenario, home, jail)
        ]
        talks = [
            (
                scenario,
                await play_scenario(
                    find_policy("reference"), scenario, home, jail, "g", 0, form="conversation"
                ),
            )
            for scenario, home in found
            if scenario.user.hidden
        ]
        return plays, talks, make_export_set(found)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    plays, talks, export_set = asyncio.run(_play_all(tmp_path_factory.mktemp("home")))
    return Ground(plays, talks, write_consumer(BARE, export_set, tmp_path_factory.mktemp("out")))


def list_moves(found: Play) -> list[dict[str, Any]]:
    return [
        *({"name": call.name, "arguments": call.arguments} for call in found.calls),
        *({"say": text} for text in found.said),
    ]


def test_five_policies_earn_what_they_earn_natively(ground: Ground) -> None:
    told = play(ground.folder, [[one.scenario.id, list_moves(one)] for one in ground.plays])
    assert [(one["outcome"], one["reward"], one["state_hash"]) for one in told] == [
        (one.verdict.outcome, one.verdict.reward, one.state_hash) for one in ground.plays
    ]
    assert {(one["outcome"], one["reward"]) for one in told} == {("pass", 1.0), ("fail", 0.0)}
    assert [one["again"] for one in told] == [
        {name: one[name] for name in one["again"]} for one in told
    ]


def test_conversations_go_as_in_the_factory(ground: Ground) -> None:
    """The same words to the scripted user, and the same calls: the same answers, verdict and
    state."""
    asked: list[list[Any]] = []
    for scenario, rollout in ground.talks:
        moves: list[dict[str, Any]] = []
        for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
            calls = entry.get("tool_calls") or []
            moves += [{"name": one["name"], "arguments": one["arguments"]} for one in calls] or [
                {"say": entry["content"]}
            ]
        asked.append([f"{scenario.id}-conversation", moves])
    for (_, rollout), told in zip(ground.talks, play(ground.folder, asked), strict=True):
        assert (told["outcome"], told["reward"], told["state_hash"]) == (
            rollout.outcome,
            rollout.reward,
            rollout.final_state_hash,
        )
        answers = [reply["text"] for reply in told["replies"] if isinstance(reply, dict)]
        spoken = [
            entry["content"]
            for entry in rollout.transcript
            if entry["role"] == "user" and not entry.get("tool_calls")
        ]
        assert [*spoken[1:]] == [answer for answer in answers if answer][: len(spoken) - 1]
        assert told["ended"] in ("content", "gave_up")
        assert told["again"]["reward"] == rollout.reward


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": 1}',
        "",
        "  ",
        "{}",
        "[]",
        "null",
        "1",
        '"x"',
        "{",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "[" * 9000,
    ],
)
def test_arguments_are_read_as_the_factory_reads_a_model_s(raw: str) -> None:
    assert read_arguments(raw) == read_call("1", "lend", raw).arguments


def test_what_cannot_be_read_is_answered_as_in_the_factory_and_counts(ground: Ground) -> None:
    assert TOLD == MALFORMED
    (told,) = play(
        ground.folder, [[ground.plays[0].scenario.id, [{"name": "lend", "arguments": "{"}] * 41]]
    )
    assert told["replies"][0] == render_reply(MALFORMED)
    assert "session_over" in told["replies"][40]
    assert (told["ended"], told["reward"]) == ("step_limit", 0.0)


def test_another_end_than_was_recorded_is_an_error(ground: Ground) -> None:
    first = ground.plays[0]
    with open_set(ground.folder / BARE.package) as scenarios:
        judged = scenarios.judge_moves(first.scenario.id, list_moves(first), "0" * 32)
    assert (judged.outcome, judged.reward, "was recorded" in judged.reason) == ("error", None, True)


@pytest.mark.parametrize(("allowed", "reward"), [(True, 0.5), (False, 0.0)])
def test_a_part_is_paid_only_where_the_export_allows_it(
    tmp_path: Path, allowed: bool, reward: float
) -> None:
    """Lent to somebody else: one goal of two."""
    shed = make_environment()
    parts = VERIFIER.model_copy(
        update={"partial": True, "frame": [["tools", "T1", "free"], ["loans"]]}
    )
    scenario = make_scenario(shed, verifier=parts)
    export_set = make_export_set([(scenario, shed)])
    folder = write_consumer(
        BARE, replace(export_set, partial=frozenset({scenario.id} if allowed else ())), tmp_path
    )
    lends = [
        [{"name": "lend", "arguments": {"tool_id": "T1", "member_id": member}}]
        for member in ("M2", "M1")
    ]
    part, whole = play(folder, [[scenario.id, moves] for moves in lends])
    assert (part["outcome"], part["reward"], part["again"]["reward"]) == ("fail", reward, reward)
    assert (whole["outcome"], whole["reward"]) == ("pass", 1.0)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["rewards"] == {"partial": [scenario.id] if allowed else [], "others": "binary"}
    assert ("also pays parts" in (folder / "README.md").read_text()) is allowed


def test_a_program_that_looks_for_its_verifier_finds_nothing(tmp_path: Path) -> None:
    pair = make_spy()
    folder = write_consumer(BARE, make_export_set([pair]), tmp_path)
    (told,) = play(folder, [[pair[0].id, list_looks(folder, BARE.package)]])
    assert find_secrets(told["replies"]) == []
    assert all("no: " in reply for reply in told["replies"]), told["replies"]


def test_bad_input_is_said(ground: Ground, tmp_path: Path) -> None:
    with (
        open_set(ground.folder / BARE.package) as scenarios,
        pytest.raises(SetError, match=r"There is no scenario 'scn_9' .* among them"),
    ):
        scenarios.begin("scn_9")
    with pytest.raises(SetError, match=r"Name the folder that holds public/ and sealed/"):
        open_set(tmp_path)
    rows = ground.folder / BARE.package / "public/rows.jsonl"
    (tmp_path / "public").mkdir()
    for damage, words in (
        (('"layout":2', '"layout":1'), "layout 1, and this adapter reads 2"),
        (('"split"', '"spilt"'), "spilt, split"),
    ):
        (tmp_path / "public/rows.jsonl").write_text(rows.read_text().replace(*damage))
        with pytest.raises(SetError, match=words):
            open_set(tmp_path)
    (tmp_path / "public/rows.jsonl").write_text(rows.read_text())
    with open_set(tmp_path) as scenarios, pytest.raises(SetError, match=r"there is no such folder"):
        scenarios.begin(scenarios.rows[0].id)


def test_where_the_kernel_has_no_layers_nothing_runs(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_set(ground.folder / BARE.package) as scenarios:
        monkeypatch.setattr(scenarios.lanes.shared[0].engine, "_without", LAYERS)
        with pytest.raises(JailError):
            scenarios.begin(scenarios.rows[0].id)
        assert scenarios.begin(scenarios.rows[0].id).state_hash  # the next one has another jail


def test_many_sessions_are_open_at_once(ground: Ground) -> None:
    """From many threads, of several environments, on one jail."""
    from concurrent.futures import ThreadPoolExecutor

    with open_set(ground.folder / BARE.package) as scenarios:

        def attempt(found: Play) -> tuple[str, str]:
            with scenarios.begin(found.scenario.id) as session:
                for move in list_moves(found):
                    session.say(move["say"]) if "say" in move else session.call(
                        move["name"], move["arguments"]
                    )
                return session.judge().outcome, session.state_hash

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(attempt, ground.plays)) == [
                (one.verdict.outcome, one.state_hash) for one in ground.plays
            ]
        assert scenarios.lanes.replaced == 0
