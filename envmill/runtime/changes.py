"""What changed between two JSON states, as plain rows: the session's own account, for people and
for trimming what travels."""

from collections.abc import Iterator
from typing import Any

from envmill.runtime.canonical import is_array, is_object


def list_changes(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Rows `{op: add | remove | set, path, before, after}` in path order. Lists are compared whole:
    positions carry no identity."""
    if not (is_object(before) and is_object(after)):
        if not same(before, after):
            yield {"path": list(path), "op": "set", "before": before, "after": after}
        return
    for key in sorted(_list_touched(before, after)):
        here: tuple[str, ...] = (*path, key)
        if key not in after:
            yield {"path": list(here), "op": "remove", "before": before[key], "after": None}
        elif key not in before:
            yield {"path": list(here), "op": "add", "before": None, "after": after[key]}
        else:
            yield from list_changes(before[key], after[key], here)


def _list_touched(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Keys that may have changed. Most of a state is what it was, and often the same objects: to go
    down into each takes far longer."""
    both = before.keys() & after.keys()
    moved = [
        key
        for key in both
        if (one := before[key]) is not (other := after[key])
        and not (type(one) is str and one == other)
    ]
    return [*moved, *(before.keys() ^ after.keys())]


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1, and 1 is 1.0, however deep."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_object(left) and is_object(right):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if is_array(left) and is_array(right):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
