"""Papers of the folder for inspect-ai, and what it has no place for; without inspect-ai."""

from dataclasses import replace
from typing import Any

import pytest

from envmill.interop.consumers.inspect import CONSUMER, VERSIONS, refuse
from envmill.interop.consumers.sessions import ScenarioRow
from tests.interop.consumers.houses import LOCKS

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


def make_row(**properties: Any) -> ScenarioRow:
    tool = {
        "name": "lend",
        "description": "Lend.",
        "parameters": {"type": "object", "properties": properties},
    }
    return replace(ROW, tools=[{"type": "function", "function": tool}])


def test_the_adapter_names_the_version_that_the_folder_asks_for() -> None:
    tested = VERSIONS["inspect-ai"]
    assert f'TESTED = "{tested}"' in (CONSUMER.adapter / "__init__.py").read_text()
    assert f"inspect-ai=={tested}" in str(CONSUMER.papers([])["pyproject.toml"])
    assert f"inspect_ai=={tested}\n" in (LOCKS / "inspect.txt").read_text()


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        pytest.param(
            {"a": {"type": "string", "pattern": "(a+)+"}},
            "a parameter with a pattern",
            id="pattern",
        ),
        pytest.param(
            {"a": {"type": "array", "items": {"pattern": "x"}}},
            "a parameter with a pattern",
            id="pattern of an item",
        ),
        pytest.param(
            {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/x"}]}},
            "refers to a definition",
            id="reference",
        ),
        pytest.param({"pattern": {"type": "string"}}, "", id="a parameter that is called so"),
        pytest.param(
            {"a": {"type": "object", "additionalProperties": False}, "b": {"enum": ["pattern"]}},
            "",
            id="others",
        ),
    ],
)
def test_what_inspect_cannot_hold_is_refused(properties: dict[str, Any], words: str) -> None:
    assert words in refuse(make_row(**properties))
    assert bool(words) == bool(refuse(make_row(**properties)))
