"""Differences between two JSON states, row by row and field by field."""

from collections.abc import Iterator

from schemas.base import Json, is_array, is_object
from schemas.scenario import Change


def diff_states(before: Json, after: Json) -> list[Change]:
    """Changes that lead from one state to the other, in path order. Lists are compared whole: positions carry no identity."""
    return list(_diff(before, after, []))


def _diff(before: Json, after: Json, path: list[str]) -> Iterator[Change]:
    if same(before, after):
        return
    if not (is_object(before) and is_object(after)):
        yield Change(path=path, op="set", before=before, after=after)
        return
    for key in sorted(before.keys() | after.keys()):
        here = [*path, key]
        if key not in after:
            yield Change(path=here, op="remove", before=before[key])
        elif key not in before:
            yield Change(path=here, op="add", after=after[key])
        else:
            yield from _diff(before[key], after[key], here)


def same(left: Json, right: Json) -> bool:
    """Equal as JSON: True is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_object(left) and is_object(right):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if is_array(left) and is_array(right):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
