"""TRL (Hugging Face): environment classes for its `GRPOTrainer`, and rows for its trainers."""

import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envmill.interop.consumers.base import Consumer, write_distribution
from envmill.interop.consumers.sessions import ScenarioRow

PACKAGE = "envmill_trl"
VERSIONS = {"trl": "1.16.0", "transformers": "5.24.0", "datasets": "5.2.0"}
RESERVED = ("reset", "get_reward")
"""Methods that TRL calls itself."""
_HERE = Path(__file__).parent


def refuse(row: ScenarioRow) -> str:
    """Why TRL has no place for a row."""
    if row.form == "conversation":
        return (
            "TRL has no place for a user who answers: its rollout ends with the first message "
            "without a call"
        )
    return next((why for tool in row.tools for why in _find_obstacles(tool["function"])), "")


def _find_obstacles(tool: dict[str, Any]) -> Iterator[str]:
    """Why a tool cannot be a documented method of a class."""
    name = str(tool["name"])
    if name in RESERVED:
        yield f"the tool {name} has the name of a method that TRL calls itself"
    if name.startswith("_"):
        yield f"the tool {name} begins with an underscore, and TRL hides such methods"
    for parameter in tool["parameters"].get("properties", {}):
        if (
            not parameter.isidentifier()
            or keyword.iskeyword(parameter)
            or parameter in ("self", "return")
        ):
            yield (
                f"the parameter {parameter} of the tool {name} cannot be the name of a parameter "
                "of a Python method"
            )


CONSUMER = Consumer(
    name="trl",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=write_distribution(_HERE, VERSIONS),
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
    refuse=refuse,
)
