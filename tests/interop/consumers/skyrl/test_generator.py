"""SkyRL's own data set and generator on an exported folder, offline: five policies, and what of
their texts is learnt."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.consumers.skyrl import CONSUMER, VERSIONS
from schemas.rollout import Rollout
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import SOAKING, open_locked_house, run_offline
from tests.interop.consumers.nights import RECIPES, Night, talk
from tests.interop.consumers.pages import read_settings
from tests.interop.consumers.texts import write_talk, write_texts

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
LEAST = 10
"""Environments of each kind."""
TALKS = 3
"""Conversations of each kind."""


@pytest.fixture(scope="module")
def talks(night: Night, tmp_path_factory: pytest.TempPathFactory) -> list[Rollout]:
    return asyncio.run(talk(night, tmp_path_factory.mktemp("home"), TALKS))


@pytest.fixture(scope="module")
def answers(
    night: Night, talks: list[Rollout], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = write_consumer(CONSUMER, night.export_set, tmp_path_factory.mktemp("out"))
    scripts: dict[str, list[Any]] = {}
    for play in night.plays:
        scripts.setdefault(play.scenario.id, []).append(
            {"name": play.name, "texts": write_texts(play)}
        )
    for rollout in talks:
        scripts[f"{rollout.scenario}-conversation"] = [
            {"name": "talk", "texts": write_talk(rollout)}
        ]
    asked = {
        "scripts": scripts,
        "rounds": 10,
        "settings": [*read_settings("skyrl"), "generator.odd"],
    }
    return run_offline(
        open_locked_house("skyrl"), Path(__file__).with_name("playing.py"), [str(folder)], asked
    )


def test_every_cell_is_equal(night: Night, answers: dict[str, Any]) -> None:
    """SkyRL × kind × policy."""
    told = {(one["scenario"], one["name"]): one for one in answers["plays"]}
    assert answers["ours"] == []
    assert answers["versions"]["skyrl-gym"] == VERSIONS["skyrl-gym"]
    cells, earned = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for play in night.plays:
        one, cell = told[play.scenario.id, play.name], (play.environment.kind, play.name)
        assert (one["reward"], one["state_hash"]) == (play.verdict.reward, play.state_hash), cell
        assert one["paid"] == play.verdict.reward, cell
        cells[cell] += 1
        earned[cell] += int(one["reward"])
    kinds = Counter(kind for kind, name in cells if name == "oracle")
    assert set(kinds) == {"stateful", "sql"}
    assert min(cells.values()) >= LEAST
    assert all(earned[kind, "oracle"] == cells[kind, "oracle"] for kind in kinds)
    assert not any(
        earned[cell] for cell in cells if cell[1] != "oracle" and cell[1] != "wrong order"
    )
    sys.stderr.write(
        f"skyrl: { {' '.join(cell): f'{earned[cell]}/{count}' for cell, count in cells.items()} }\n"
    )


def test_conversations_are_played_with_the_scripted_user(
    talks: list[Rollout], answers: dict[str, Any]
) -> None:
    told = {one["scenario"]: one for one in answers["plays"] if one["name"] == "talk"}
    assert len(talks) == TALKS * len(RECIPES)
    for rollout in talks:
        one = told[f"{rollout.scenario}-conversation"]
        assert (one["reward"], one["state_hash"]) == (rollout.reward, rollout.final_state_hash)


def test_what_is_learnt_is_what_the_policy_said(night: Night, answers: dict[str, Any]) -> None:
    told = {(one["scenario"], one["name"]): one["learnt"] for one in answers["plays"]}
    for play in night.plays:
        texts = "".join(f"{text}<|im_end|>" for text in write_texts(play))
        # A limit may end the episode before the last words.
        assert texts.startswith(told[play.scenario.id, play.name])
        assert told[play.scenario.id, play.name]


def test_the_data_loader_reads_every_row(night: Night, answers: dict[str, Any]) -> None:
    assert {row.removesuffix("-conversation") for row in answers["rows"]} == {
        one.id for one in night.export_set.scenarios
    }
    assert all(
        [message["role"] for message in prompt] == ["system", "user"]
        for prompt in answers["rows"].values()
    )


def test_the_page_names_settings_that_there_are(answers: dict[str, Any]) -> None:
    assert answers["unknown"] == ["generator.odd"]


def test_what_a_step_costs_beside_the_bare_framework(answers: dict[str, Any]) -> None:
    sys.stderr.write(f"skyrl, ms a step: {answers['step_ms']}\n")
    assert answers["step_ms"]["envmill"] < 20
