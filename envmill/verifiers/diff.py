"""Differences between two JSON states as records, row by row and field by field."""

from envmill.runtime.changes import list_changes, same
from schemas.base import Json
from schemas.scenario import Change

__all__ = ["diff_states", "same"]


def diff_states(before: Json, after: Json) -> list[Change]:
    """Changes that lead from one state to the other, in path order. Lists are compared whole: positions carry no identity."""
    return [Change(**row) for row in list_changes(before, after)]
