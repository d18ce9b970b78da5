"""verl's own data set, agent loop and reward manager on an exported folder, offline: five
policies."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.transcript import list_tools
from envmill.interop.consumers.verl import CONSUMER, VERSIONS
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import LOCKS, SOAKING, open_locked_house, run_offline
from tests.interop.consumers.nights import Night
from tests.interop.consumers.pages import read_settings

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
LEAST = 10
"""Environments of each kind."""


@pytest.fixture(scope="module")
def answers(night: Night, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = write_consumer(CONSUMER, night.export_set, tmp_path_factory.mktemp("out"))
    settings = [*read_settings("verl"), "data.odd"]
    asked = {"scripts": night.list_scripts(), "rounds": 10, "settings": settings}
    house = open_locked_house("verl", *(f"{name}=={version}" for name, version in VERSIONS.items()))
    return run_offline(house, Path(__file__).with_name("playing.py"), [str(folder)], asked)


def test_every_cell_is_equal(night: Night, answers: dict[str, Any]) -> None:
    """verl × kind × policy."""
    told = {(one["scenario"], one["name"]): one for one in answers["plays"]}
    assert answers["ours"] == []
    assert answers["versions"] == VERSIONS
    cells, earned = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for play in night.plays:
        one, cell = told[play.scenario.id, play.name], (play.environment.kind, play.name)
        assert (one["reward"], one["state_hash"]) == (play.verdict.reward, play.state_hash), cell
        cells[cell] += 1
        earned[cell] += int(one["reward"])
    kinds = {kind for kind, _ in cells}
    assert kinds == {"stateful", "sql"}
    assert min(cells.values()) >= LEAST
    assert all(earned[kind, "oracle"] == cells[kind, "oracle"] for kind in kinds)
    sys.stderr.write(
        f"verl: { {' '.join(cell): f'{earned[cell]}/{count}' for cell, count in cells.items()} }\n"
    )


def test_what_is_learnt_is_what_the_policy_said(answers: dict[str, Any]) -> None:
    for one in answers["plays"]:
        assert one["learnt"].replace("<|im_end|>", "").replace("\n", "") == "".join(
            one["said"]
        ).replace("\n", "")


def test_one_step_makes_what_passed_likelier_beside_what_failed(answers: dict[str, Any]) -> None:
    """verl's data set, agent loop, reward manager, advantage and loss, and an optimiser's step."""
    told = answers["training"]
    sys.stderr.write(f"verl, one step: {told}\n")
    assert set(told["rewards"]) == {0.0, 1.0}
    assert [one > 0 for one in told["advantages"]] == [one == 1.0 for one in told["rewards"]]
    assert told["gradient"] > 0
    passed, failed = (
        [one for one, reward in zip(told["gained"], told["rewards"], strict=True) if reward == paid]
        for paid in (1.0, 0.0)
    )
    assert sum(passed) / len(passed) > sum(failed) / len(failed)


def test_the_data_set_reads_every_row_and_the_registry_every_tool(
    night: Night, answers: dict[str, Any]
) -> None:
    kept = {one.id: one for one in night.export_set.scenarios}
    homes = {one.id: one for one in night.export_set.environments}
    assert set(answers["rows"]) <= set(kept)
    assert len(answers["rows"]) >= 2 * LEAST
    for scenario, (prompt, selection) in answers["rows"].items():
        assert prompt[-1] == {"role": "user", "content": kept[scenario].request}
        shown = list_tools(homes[kept[scenario].environment])
        told = [answers["tools"][name] for name in selection]
        assert [config["tool"] for config, _ in told] == [tool["name"] for tool in shown]
        assert [{**schema["function"], "name": config["tool"]} for config, schema in told] == shown


def test_the_page_names_settings_that_there_are(answers: dict[str, Any]) -> None:
    assert answers["unknown"] == ["data.odd"]


def test_what_a_call_costs_beside_the_bare_framework(answers: dict[str, Any]) -> None:
    sys.stderr.write(f"verl, ms a call: {answers['step_ms']}\n")
    assert answers["step_ms"]["envmill"] < 20


def test_the_lock_names_no_other_version() -> None:
    """verl itself is installed beside it, without the 30 packages that no loop without GPUs
    needs."""
    assert not [
        line for line in (LOCKS / "verl.txt").read_text().splitlines() if line.startswith("verl==")
    ]
