"""What a stored test expects to see: parts of the reply and of the state, each held against what was seen, with its path."""

from collections.abc import Iterator, Mapping

from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Test

ANY = "*"
"""Key of a row that the test made: such keys are not known beforehand."""
_SHOWN = 120


def find_unmet(test: Test, reply: Json, state: Json) -> list[str]:
    """Each value that is expected and was not seen, in the order in which they are written."""
    found = list(_hold(test.reply, reply, "reply")) if test.expect == "success" and test.reply is not None else []
    for collection, rows in test.after.items():
        held: Mapping[str, Json] = key_rows(state.get(collection)) if is_object(state) else {}
        old = key_rows(test.initial_state.get(collection))
        made = {key: row for key, row in held.items() if key not in old}
        for key, row in rows.items():
            found += _hold_row(row, made if key == ANY else held, key, f"after/{collection}/{key}")
    return found


def key_rows(collection: Json) -> Mapping[str, Json]:
    """Rows by their keys; those of a list by their `id`."""
    if is_array(collection):
        return {str(row["id"]): row for row in collection if is_object(row) and "id" in row}
    return collection if is_object(collection) else {}


def _hold_row(row: Json, held: Mapping[str, Json], key: str, path: str) -> Iterator[str]:
    if row is None:
        there = bool(held) if key == ANY else key in held
        yield from (f"{path}: expected no such row, and there is one",) if there else ()
    elif key == ANY:
        if not any(_fits(row, other) for other in held.values()):
            yield f"{path}: expected a row with {_render(row)}, and none of {len(held)} new ones has that"
    elif key not in held:
        yield f"{path}: expected a row, and there is none"
    else:
        yield from _hold(row, held[key], path)


def _hold(expected: Json, seen: Json, path: str) -> Iterator[str]:
    if is_object(expected) and is_object(seen):
        for name, value in expected.items():
            if name in seen:
                yield from _hold(value, seen[name], f"{path}/{name}")
            else:
                yield f"{path}/{name}: expected {_render(value)}, and there is no such value"
    elif is_array(expected) and is_array(seen):
        for place, value in enumerate(expected):
            if not any(_fits(value, other) for other in seen):
                yield f"{path}/{place}: expected an entry with {_render(value)}, and none of {len(seen)} has that"
        if not expected and seen:
            yield f"{path}: expected nothing, and saw {len(seen)} entries"
    elif expected != seen or isinstance(expected, bool) is not isinstance(seen, bool):
        yield f"{path}: expected {_render(expected)}, saw {_render(seen)}"


def _fits(expected: Json, seen: Json) -> bool:
    return next(_hold(expected, seen, ""), None) is None


def _render(value: Json) -> str:
    spelt = canonical_json(value)
    return spelt if len(spelt) <= _SHOWN else f"{spelt[:_SHOWN]}…"
