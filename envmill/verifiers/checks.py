"""Declarative checks, run by trusted code on exported states."""

from envmill.verifiers.diff import same
from schemas.base import Json, is_object
from schemas.scenario import Check

_MISSING = object()


def holds(check: Check, state: Json) -> bool:
    """Whether the check is true of the state."""
    found = look_up(state, check.path)
    if check.op == "absent":
        return found is _MISSING
    if check.op == "equals":
        return found is not _MISSING and same(found, check.value)
    return is_object(found) and any(covers(row, check.value) for row in found.values())


def look_up(state: Json, path: list[str]) -> Json:
    """The value at a path, or a marker no JSON value equals."""
    for key in path:
        if not is_object(state) or key not in state:
            return _MISSING
        state = state[key]
    return state


def covers(row: Json, pattern: Json) -> bool:
    """Whether a row agrees with every field of a pattern."""
    return is_object(row) and is_object(pattern) and all(key in row and same(row[key], pattern[key]) for key in pattern)
