"""inspect-ai (UK AI Security Institute): a task with a sample per scenario, tools, a solver that
also talks, and a scorer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envmill.interop.consumers.base import Consumer, write_distribution
from envmill.interop.consumers.sessions import ScenarioRow

PACKAGE = "envmill_inspect"
VERSIONS = {"inspect-ai": "0.3.285"}
_HERE = Path(__file__).parent


def refuse(row: ScenarioRow) -> str:
    """Why inspect has no place for a row."""
    return next((why for tool in row.tools for why in _find_obstacles(tool["function"])), "")


def _find_obstacles(tool: dict[str, Any]) -> Iterator[str]:
    """inspect validates arguments itself, with a backtracking engine for patterns and without
    definitions to refer to."""
    keywords = set(_list_keywords(tool["parameters"]))
    if "pattern" in keywords:
        yield (
            f"the tool {tool['name']} has a parameter with a pattern, which inspect would match "
            "in its own process"
        )
    if "$ref" in keywords:
        yield (
            f"the tool {tool['name']} has a parameter that refers to a definition, and inspect "
            "keeps none"
        )


def _list_keywords(schema: Any) -> Iterator[str]:
    """Keywords of a JSON Schema and of the schemas in it. A property's name is none."""
    if not isinstance(schema, dict):
        return
    told: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    yield from told
    inner = [
        *told.get("properties", {}).values(),
        *told.get("anyOf", ()),
        told.get("items"),
        told.get("additionalProperties"),
    ]
    for one in inner:
        yield from _list_keywords(one)


CONSUMER = Consumer(
    name="inspect",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=write_distribution(_HERE, VERSIONS),
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
    refuse=refuse,
)
