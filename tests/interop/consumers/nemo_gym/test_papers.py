"""Rows, configuration and refusals of the folder for NeMo Gym, without NeMo Gym."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from envmill.interop.consumers.nemo_gym import CONSUMER, EXAMPLES, VERSIONS, is_strict, refuse
from envmill.interop.consumers.sessions import ScenarioRow
from tests.interop.consumers.folders import write_consumer
from tests.interop.exporters.specimens import make_export_set

ROW = ScenarioRow(
    2,
    "scn_1",
    "scn_1",
    "env_1",
    "stateful",
    "000",
    "single",
    "test",
    0,
    [],
    [],
    {},
    "CC0-1.0",
    "binary",
)
HOME = "resources_servers/envmill"


def test_the_papers_name_the_version_and_list_every_row(tmp_path: Path) -> None:
    folder = write_consumer(CONSUMER, make_export_set(), tmp_path)
    tested = VERSIONS["nemo-gym"]
    assert f'TESTED = "{tested}"' in (CONSUMER.adapter / "__init__.py").read_text()
    assert f"nemo-gym=={tested}" in (folder / "pyproject.toml").read_text()
    public = [
        json.loads(line)
        for line in (folder / CONSUMER.package / "public/rows.jsonl").read_text().splitlines()
    ]
    config = yaml.safe_load((folder / HOME / "configs/envmill.yaml").read_text())
    named = config["envmill_simple_agent"]["responses_api_agents"]["simple_agent"]["datasets"]
    assert all((folder / one["jsonl_fpath"]).is_file() for one in named)
    assert all(one.get("license") for one in named if one["type"] != "example")
    data = {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / HOME / "data").glob("*.jsonl")
    }
    assert 1 <= len(data.pop("example")) <= EXAMPLES
    rows = {row["scenario"]: row for found in data.values() for row in found}
    assert rows.keys() == {row["id"] for row in public}
    assert {row["form"] for row in public} == {"single"}
    for row in public:
        asked = rows[row["id"]]["responses_create_params"]
        assert asked["input"] == row["prompt"]
        assert [tool["name"] for tool in asked["tools"]] == [
            tool["function"]["name"] for tool in row["tools"]
        ]
        assert all(
            tool["type"] == "function" and tool["strict"] is is_strict(tool["parameters"])
            for tool in asked["tools"]
        )


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(
            {"type": "object", "properties": {}, "additionalProperties": False}, True, id="nothing"
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            True,
            id="all",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": False,
            },
            False,
            id="optional",
        ),
        pytest.param({"type": "object", "properties": {}}, False, id="others"),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "object"}]}},
                "required": ["a"],
                "additionalProperties": False,
            },
            False,
            id="a field that takes anything",
        ),
    ],
)
def test_strict_is_said_where_a_server_may_enforce_it(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict


@pytest.mark.parametrize(("name", "words"), [("verify", "has the name of a route"), ("lend", "")])
def test_tools_named_like_a_route_are_refused(name: str, words: str) -> None:
    told = refuse(
        replace(ROW, tools=[{"type": "function", "function": {"name": name, "parameters": {}}}])
    )
    assert words in told
    assert bool(words) == bool(told)


def test_conversations_are_refused() -> None:
    assert "no place for a user" in refuse(replace(ROW, form="conversation"))
