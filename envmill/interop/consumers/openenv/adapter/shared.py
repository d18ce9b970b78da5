# pyright: basic, reportMissingImports=false
"""The scenario set that all sessions of this process share, and its rows by name and place."""

import atexit
import os
from functools import cache
from threading import Lock
from typing import Any

from .sessions import ScenarioRow, ScenarioSet, SetError, open_set

_OPENING = Lock()


@cache
def _open_once() -> ScenarioSet:
    found = open_set(lanes=os.cpu_count() or 1)
    atexit.register(found.close)
    return found


def open_shared() -> ScenarioSet:
    """The set that this package brings, opened once a process."""
    with _OPENING:
        return _open_once()


def find_row(scenario: str, environment: str, split: str, index: int | None) -> ScenarioRow:
    """By id, by split and place, or the first of an environment."""
    if scenario:
        row = open_shared().find(scenario)
        if environment and row.environment != environment:
            raise SetError(
                f"Scenario {scenario} is of environment {row.environment}, not {environment}."
            )
        return row
    if split or index is not None:
        return pick_row(split or "train", index or 0)
    found = [row for row in open_shared().rows if environment in ("", row.environment)]
    if not found:
        raise SetError(f"There is no environment {environment!r} here.")
    return found[0]


def list_rows(split: str) -> list[ScenarioRow]:
    """Rows of a split, in their order."""
    return [row for row in open_shared().rows if row.split == split]


def pick_row(split: str, index: int) -> ScenarioRow:
    """A row by its place in a split."""
    rows = list_rows(split)
    if not 0 <= index < len(rows):
        raise IndexError(f"Split {split!r} has {len(rows)} scenarios, and {index} is none of them.")
    return rows[index]


def describe_row(row: ScenarioRow, place: int) -> dict[str, Any]:
    """A row as OpenEnv's task interface lists it."""
    return {
        "id": row.id,
        "index": place,
        "environment": row.environment,
        "kind": row.kind,
        "form": row.form,
    }


def describe_health() -> dict[str, Any]:
    """For whoever asks without a credential: nothing of where the feed is.

    `degraded` where the recall feed could not be read when a session last began: newer recalls are
    missed.
    """
    recalls = open_shared().recalls.describe()
    told = {name: recalls[name] for name in ("feed", "seq", "withdrawn")}
    problem = bool(recalls["problem"])
    return {
        "status": "degraded" if problem else "healthy",
        "recalls": told | {"unreadable": problem},
    }
