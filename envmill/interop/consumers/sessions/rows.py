"""The public part of a set: one row per scenario and form, with all that a policy may read before
it begins."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

PUBLIC = "public/rows.jsonl"
SEALED = "sealed"
"""Folder of the bundles: what runs the tools and gives the rewards reads it, and no policy may."""
LAYOUT = 2
"""Version of the folder's layout, in every row."""


class SetError(Exception):
    """Wrong use, or a folder that is damaged or of another version. The message says what to do."""


class OutageError(Exception):
    """Nothing was found out about the policy. For consumers that have no reward which says so: 0
    would blame the policy."""


@dataclass(frozen=True)
class ScenarioRow:
    """A scenario as it is put to a policy."""

    layout: int
    id: str
    """Scenario id; of a conversation `-conversation` is added."""
    scenario: str
    environment: str
    kind: str
    number: str
    """Name of the scenario in its environment's folder."""
    form: str
    """`single`: the prompt asks for all at once; `conversation`: a user tells the rest when
    asked."""
    split: str
    seed: int
    """Seed of the session's ids and randomness."""
    prompt: list[dict[str, str]]
    """Messages to begin with."""
    tools: list[dict[str, Any]]
    """Interface in OpenAI's format."""
    limits: Mapping[str, float]
    """How long a rollout was allowed to be in the factory: steps, turns."""
    licence: str
    rewards: str
    """`binary`: 1 for the whole job, else 0; `partial`: what the verifier pays for a part, too."""


_FIELDS = {field.name for field in fields(ScenarioRow)}


def read_rows(folder: Path) -> list[ScenarioRow]:
    """Every row of a set, in the order of the file."""
    path = folder / PUBLIC
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SetError(
            f"{path} cannot be read ({error}). Name the folder that holds public/ and {SEALED}/."
        ) from None
    return [_read_row(line, f"{path}, line {place}") for place, line in enumerate(lines, 1)]


def _read_row(line: str, place: str) -> ScenarioRow:
    try:
        told: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SetError(f"{place}: it is no JSON ({error}). Export the folder again.") from None
    layout = _read_layout(told)
    if layout != LAYOUT:
        raise SetError(
            f"{place}: it is of layout {layout}, and this adapter reads {LAYOUT}. Use the adapter "
            "that lies in the same export."
        )
    if strange := sorted(told.keys() ^ _FIELDS):
        raise SetError(
            f"{place}: its fields are not those of a row ({', '.join(strange)}). Export the "
            "folder again."
        )
    return ScenarioRow(**told)


def _read_layout(told: Any) -> Any:
    return told.get("layout") if isinstance(told, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
