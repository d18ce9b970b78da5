"""Differences between two JSON states as records, row by row and field by field.

Collections with equal bytes are skipped. So a verdict on a large state with few changes costs as
much as serialising the state once.
"""

from collections.abc import Mapping
from typing import TypeAlias

import orjson

from envmill.runtime.changes import list_changes, same
from schemas.base import Json, is_object
from schemas.scenario import Change

__all__ = ["SerialisedState", "apply_changes", "diff_states", "render_state", "same"]

SerialisedState: TypeAlias = Mapping[str, bytes]
"""Collection → its serialised bytes, keys sorted."""


def diff_states(before: Json, after: Json, known: SerialisedState | None = None) -> list[Change]:
    """Changes that lead from one state to the other, in path order. Lists are compared as a whole,
    because a position does not identify an item.

    `known` is `render_state` of the state before, for callers that compare many states with one.
    """
    if before is after:
        return []
    if not (is_object(before) and is_object(after)):
        return [Change(**row) for row in list_changes(before, after)]
    touched = [key for key in before.keys() | after.keys() if not _agree(key, before, after, known)]
    left, right = (
        {key: state[key] for key in touched if key in state} for state in (before, after)
    )
    return [Change(**row) for row in list_changes(left, right)]


def render_state(state: Mapping[str, Json]) -> SerialisedState:
    """The serialised bytes of each collection."""
    return {
        key: serialised
        for key, value in state.items()
        if (serialised := _render(value)) is not None
    }


def apply_changes(before: Mapping[str, Json], changes: list[Change]) -> dict[str, Json]:
    """The state that the changes lead to. It shares its unchanged parts with the state before."""
    after = dict(before)
    for change in changes:
        here = after
        for key in change.path[:-1]:
            here[key] = dict(here[key])
            here = here[key]
        if change.op == "remove":
            del here[change.path[-1]]
        else:
            here[change.path[-1]] = change.after
    return after


def _agree(
    key: str, before: Mapping[str, Json], after: Mapping[str, Json], known: SerialisedState | None
) -> bool:
    """Whether a collection has the same bytes in both states. If False, a comparison of the rows
    may still find no change."""
    if key not in before or key not in after:
        return False
    if before[key] is after[key]:
        return True
    if _shares_rows(before[key], after[key]):
        return False
    # The jail returns a state with its keys sorted. Sorting it again would double the time.
    serialised = _render(after[key], sort=False)
    return serialised is not None and serialised == (
        known[key] if known and key in known else _render(before[key])
    )


def _shares_rows(before: Json, after: Json) -> bool:
    """Whether one collection was read against the other, so that unchanged rows are the same
    objects. Then the two differ, and only in rows that are different objects."""
    if not (is_object(before) and is_object(after)) or not before:
        return False
    ends = (next(iter(before)), next(reversed(before)))
    return any(is_object(before[name]) and after.get(name) is before[name] for name in ends)


def _render(value: Json, *, sort: bool = True) -> bytes | None:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort else None)
    except TypeError:
        return None
