"""Dialogues in consumers' folders: a scenario whose user acts is a conversation where the consumer
has one, and is left out with the reason where it has none. No call of the user's is the policy's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.limits import RolloutLimits
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.interop.exporters import ExportSet
from envmill.interop.exporters.preferences import export_preferences
from envmill.interop.exporters.sft import export_sft
from envmill.interop.exporters.views import export_views
from envmill.sandbox import Sandbox
from envmill.stages.collect import make_trajectory
from envmill.stages.pairs import pair_rollouts
from schemas.rollout import Rollout
from tests.interop.consumers.folders import BARE, CONSUMERS, make_export_set, write_consumer
from tests.interop.consumers.framework import Scripts, open_framework
from tests.interop.consumers.houses import SOAKING, open_locked_house, run_offline
from tests.interop.consumers.inspect.test_task import _install, _list_said  # pyright: ignore
from tests.interop.consumers.openenv.test_server import _list_moves  # pyright: ignore
from tests.interop.consumers.test_sessions import play
from tests.interop.consumers.texts import write_talk
from tests.kinds.dialogue.actors import ACT_FIRST
from tests.samples.dialogue import load
from tests.specimens import make_environment, make_scenario

LONG = RolloutLimits(steps=90, turns=60)
FOUND = load()
EXPORT_SET = ExportSet(environments=(FOUND.environment,), scenarios=FOUND.scenarios)
POLICIES: list[Any] = [find_policy("reference"), ACT_FIRST]
HOLDS = ("inspect", "openenv", "skyrl", "verifiers")
"""Consumers with a place for a user who answers."""
EVALUATED = 4
"""Scenarios that verifiers' own command plays."""


@pytest.fixture(scope="module")
def rollouts(tmp_path_factory: pytest.TempPathFactory) -> list[list[Rollout]]:
    """Of each scenario: one that passes, and one that acts before it asks."""

    async def play_all() -> list[list[Rollout]]:
        home = Settings.read({"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))})
        async with Sandbox.open(home) as jail:
            return [
                [
                    (
                        await play_scenario(
                            policy,
                            scenario,
                            FOUND.environment,
                            jail,
                            "g",
                            number,
                            form="conversation",
                            limits=LONG,
                        )
                    ).model_copy(update={"policy": "one"})
                    for number, policy in enumerate(POLICIES)
                ]
                for scenario in FOUND.scenarios
            ]

    return asyncio.run(play_all())


def list_rows(folder: Path) -> list[dict[str, str]]:
    (file,) = folder.rglob("public/rows.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


SHED = make_environment()
MIXED = make_export_set(
    [*((one, FOUND.environment) for one in FOUND.scenarios), (make_scenario(SHED), SHED)]
)
"""With a request that every consumer holds, so that each writes a folder."""


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_dialogue_is_a_conversation_or_left_out_by_name(name: str, tmp_path: Path) -> None:
    folder, mine = (
        write_consumer(CONSUMERS[name], MIXED, tmp_path),
        {one.id for one in FOUND.scenarios},
    )
    told = json.loads((folder / "manifest.json").read_text())
    if name in HOLDS:
        rows = [row for row in list_rows(folder) if row["environment"] == FOUND.environment.id]
        assert {row["form"] for row in rows} == {"conversation"}
        assert {row["id"].removesuffix("-conversation") for row in rows} == mine
    else:
        assert told["left_out"].keys() == {f"{one}-conversation" for one in mine}
        assert all("a user who answers" in reason for reason in told["left_out"].values())


@pytest.mark.long
def test_sessions_play_both_sides(rollouts: list[list[Rollout]], tmp_path: Path) -> None:
    """By a bare interpreter: what every adapter rests on."""
    folder = write_consumer(BARE, EXPORT_SET, tmp_path)
    asked, expected = [], []
    for scenario, made in zip(FOUND.scenarios, rollouts, strict=True):
        for rollout in made:
            moves = [
                move
                for entry in rollout.transcript
                if entry["role"] == "assistant"
                for move in entry.get("tool_calls") or [{"say": entry["content"]}]
            ]
            asked.append([f"{scenario.id}-conversation", moves])
            expected.append(rollout)
    for rollout, told in zip(expected, play(folder, asked), strict=True):
        assert (told["outcome"], told["reward"]) == (rollout.outcome, rollout.reward)
        assert told["state_hash"] == rollout.final_state_hash
        assert (told["again"]["outcome"], told["again"]["reward"]) == (
            rollout.outcome,
            rollout.reward,
        )


def test_no_call_of_the_users_is_trained_on(rollouts: list[list[Rollout]]) -> None:
    """The policy's messages and tools are the agent's; what the user did stands in their words."""
    theirs = {tool.name for tool in FOUND.environment.tools if tool.actors == ["user"]}
    pairs = list(zip(FOUND.scenarios, rollouts, strict=True))
    trajectories = [
        make_trajectory(made[0], scenario, FOUND.environment) for scenario, made in pairs
    ]
    chosen = [
        pair
        for scenario, made in pairs
        for pair in pair_rollouts(made, scenario, FOUND.environment, 2)
    ]
    assert chosen
    export_set = ExportSet(
        environments=(FOUND.environment,),
        scenarios=FOUND.scenarios,
        trajectories=tuple(trajectories),
        pairs=tuple(chosen),
    )
    for one in trajectories:
        weighed = list(zip(one.messages, one.loss, strict=True))
        assert all(message["role"] == "assistant" for message, learnt in weighed if learnt)
        assert any("I have done it" in message["content"] for message, _ in weighed)
    for export in (export_sft, export_preferences, export_views):
        for folder in export(export_set):
            lines = [
                json.loads(line)
                for path, data in folder.files.items()
                if path.endswith(".jsonl")
                for line in data.decode().splitlines()
            ]
            assert lines, folder.name
            for line in lines:
                called = set(list_called(line))
                assert called
                assert not called & theirs, (folder.name, called & theirs)


def list_called(value: object) -> list[str]:
    """Names of calls and tools, however a file writes them."""
    if isinstance(value, dict):
        own = [value["name"]] if isinstance(value.get("name"), str) else []
        return [*own, *(name for one in value.values() for name in list_called(one))]
    if isinstance(value, list):
        return [name for one in value for name in list_called(one)]
    text = value if isinstance(value, str) and value.lstrip()[:1] in ("[", "{") else ""
    try:
        return list_called(json.loads(text)) if text else []
    except ValueError:
        return []


def check_told(made: list[Rollout], told: list[dict[str, object]]) -> None:
    """Rewards and both sides' end are those of the factory."""
    assert len(made) == len(told)
    for rollout, one in zip(made, told, strict=True):
        assert (one["reward"], one["state_hash"]) == (rollout.reward, rollout.final_state_hash)


@SOAKING
@pytest.mark.soak(area="consumers")
def test_openenv_plays_both_sides(rollouts: list[list[Rollout]], tmp_path: Path) -> None:
    made = [one for pair in rollouts for one in pair]
    folder = write_consumer(CONSUMERS["openenv"], EXPORT_SET, tmp_path)
    asked = {"talks": [[f"{one.scenario}-conversation", _list_moves(one)] for one in made]}
    script = Path(__file__).parent / "openenv" / "playing.py"
    answer = run_offline(open_locked_house("openenv"), script, [str(folder)], asked)
    check_told(made, answer["talks"])


@SOAKING
@pytest.mark.soak(area="consumers")
def test_skyrl_plays_both_sides(rollouts: list[list[Rollout]], tmp_path: Path) -> None:
    """By its generator."""
    made = {
        (f"{one.scenario}-conversation", str(n)): one
        for pair in rollouts
        for n, one in enumerate(pair)
    }
    scripts: dict[str, list[Any]] = {}
    for (row, name), one in made.items():
        scripts.setdefault(row, []).append({"name": name, "texts": write_talk(one)})
    folder = write_consumer(CONSUMERS["skyrl"], EXPORT_SET, tmp_path)
    asked = {"scripts": scripts, "rounds": 1, "settings": []}
    script = Path(__file__).parent / "skyrl" / "playing.py"
    answer = run_offline(open_locked_house("skyrl"), script, [str(folder)], asked)
    told = {(one["scenario"], one["name"]): one for one in answer["plays"]}
    check_told([*made.values()], [told[place] for place in made])


@SOAKING
@pytest.mark.soak(area="consumers")
def test_verifiers_plays_both_sides(rollouts: list[list[Rollout]], tmp_path: Path) -> None:
    """By `vf-eval`, which starts a harness for each. Its scripted model knows a scenario by the
    user's first words."""
    chosen = FOUND.scenarios[:EVALUATED]
    openings = [one.user.opening for one in chosen]
    assert len(set(openings)) == len(openings)
    made = [
        {f"{one.id}-conversation": pair[place] for one, pair in zip(chosen, rollouts, strict=False)}
        for place, _ in enumerate(POLICIES)
    ]
    scripts: Scripts = {
        f"policy-{place}": {
            opening: write_turns(rollout)
            for opening, rollout in zip(openings, played.values(), strict=True)
        }
        for place, played in enumerate(made)
    }
    folder = write_consumer(CONSUMERS["verifiers"], EXPORT_SET, tmp_path / "out")
    framework = open_framework(folder, tmp_path)
    for policy, played in zip(scripts, made, strict=True):
        traces = framework.evaluate(policy, [*played], scripts)
        told = [
            {
                "reward": traces[row]["rewards"]["passed"]["score"],
                "state_hash": traces[row]["info"]["envmill"]["end"],
            }
            for row in played
        ]
        check_told([*played.values()], told)


def write_turns(rollout: Rollout) -> list[dict[str, Any]]:
    """As the scripted model of verifiers' tests says them."""
    turns: list[dict[str, Any]] = []
    for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
        calls = [
            {"call": [one["name"], json.dumps(one["arguments"])]}
            for one in entry.get("tool_calls") or []
        ]
        turns += calls or [{"say": entry["content"]}]
    return turns


@SOAKING
@pytest.mark.soak(area="consumers")
@pytest.mark.parametrize("place", [0, 1], ids=["reference", "acts first"])
def test_inspect_plays_both_sides(
    place: int, rollouts: list[list[Rollout]], tmp_path: Path
) -> None:
    made = {f"{pair[place].scenario}-conversation": pair[place] for pair in rollouts}
    folder = write_consumer(CONSUMERS["inspect"], EXPORT_SET, tmp_path)
    python, site = open_locked_house("inspect"), tmp_path / "home" / "site-packages"
    site.parent.mkdir()
    _install(folder, python, site)
    asked = {"talks": {row: _list_said(one) for row, one in made.items()}}
    script = Path(__file__).parent / "inspect" / "playing.py"
    told = {
        one["scenario"]: one for one in run_offline(python, script, [str(site)], asked)["talks"]
    }
    check_told(
        [*made.values()],
        [
            {"reward": told[row]["value"], "state_hash": told[row]["metadata"]["state_hash"]}
            for row in made
        ],
    )
