"""What a stored test expects: values in the reply and in the state, each compared with the observed
value and reported with its path.

If a test is `exact`, it names the whole change: any other difference from its initial state is a
failure, too.
"""

from collections.abc import Iterator, Mapping

from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Test

ANY = "*"
"""Key of a row that the test creates, because such keys are unknown beforehand. As a value in an
exact test: any value but the earlier one."""
_SHOWN = 120
_Rows = Mapping[str, Json]


def find_unmet(test: Test, reply: Json, state: Json) -> list[str]:
    """Expected values that were not seen, in the order of the test; then, of an exact test,
    differences that it does not name."""
    found = (
        list(_hold(test.reply, reply, "reply"))
        if test.expect == "success" and test.reply is not None
        else []
    )
    for collection, rows in test.after.items():
        held = _read_rows(state, collection)
        old = key_rows(test.initial_state.get(collection))
        made = {key: row for key, row in held.items() if key not in old}
        for key, row in rows.items():
            expected = _leave_out_any(row) if test.exact else row
            found += _hold_row(
                expected, made if key == ANY else held, key, f"after/{collection}/{key}"
            )
    return found + list(_find_other_changes(test, state)) if test.exact else found


def looks_after(test: Test) -> bool:
    """Whether the test needs the state after the call."""
    return test.exact or bool(test.after)


def key_rows(collection: Json) -> _Rows:
    """Rows by key; in a list, by `id`."""
    if is_array(collection):
        return {str(row["id"]): row for row in collection if is_object(row) and "id" in row}
    return collection if is_object(collection) else {}


def _read_rows(state: Json, collection: str) -> _Rows:
    return key_rows(state.get(collection)) if is_object(state) else {}


def _hold_row(row: Json, held: _Rows, key: str, path: str) -> Iterator[str]:
    if row is None:
        there = bool(held) if key == ANY else key in held
        yield from (f"{path}: expected no such row, and there is one",) if there else ()
    elif key == ANY:
        for one in _list_made(row):
            if not any(_fits(one, other) for other in held.values()):
                yield (
                    f"{path}: expected a row with {_render(one)}, and none of {len(held)} new "
                    "ones has that"
                )
    elif key not in held:
        yield f"{path}: expected a row, and there is none"
    else:
        yield from _hold(row, held[key], path)


def _list_made(row: Json) -> list[Json]:
    """Expectations of the rows that a call creates."""
    return list(row) if is_array(row) else [] if row is None else [row]


def _leave_out_any(row: Json) -> Json:
    if is_array(row):
        return [_leave_out_any(one) for one in row]
    return {name: value for name, value in row.items() if value != ANY} if is_object(row) else row


def _find_other_changes(test: Test, state: Json) -> Iterator[str]:
    """Differences from the initial state that the test does not name, and values that should have
    changed and did not."""
    for collection in sorted(
        {*test.initial_state, *test.after, *(state if is_object(state) else ())}
    ):
        named, old, new = (
            test.after.get(collection, {}),
            key_rows(test.initial_state.get(collection)),
            _read_rows(state, collection),
        )
        path = f"after/{collection}"
        yield from _find_other_rows(named, old, new, path)
        for key in sorted(old.keys() & new.keys()):
            row: Json = named.get(key, {})
            yield from _find_other_values(
                row if is_object(row) else {}, old[key], new[key], f"{path}/{key}"
            )


def _find_other_rows(named: _Rows, old: _Rows, new: _Rows, path: str) -> Iterator[str]:
    made = [new[key] for key in sorted(new.keys() - old.keys() - named.keys())]
    expected = _list_made(_leave_out_any(named.get(ANY)))
    if len(made) != len(expected):
        yield f"{path}: expected {len(expected)} new rows, saw {len(made)}"
    for row in made if len(made) == len(expected) else ():
        if not any(_fits(one, row) for one in expected):
            yield f"{path}: no new row is expected to be {_render(row)}"
    for key in sorted(old.keys() - new.keys()):
        if key not in named:
            yield f"{path}/{key}: the row is gone, and the test does not name it"


def _find_other_values(named: _Rows, old: Json, new: Json, path: str) -> Iterator[str]:
    """A value that the test's initial state leaves out is unknown, so its changes are not seen."""
    if not is_object(old) or not is_object(new):
        return
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name] and name not in named:
            yield (
                f"{path}/{name}: expected no change, saw {_render(old[name])} become "
                f"{_render(new[name])}"
            )
        elif old[name] == new[name] and named.get(name) == ANY:
            yield (
                f"{path}/{name}: expected another value than {_render(old[name])}, and it is the "
                "same"
            )


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
                yield (
                    f"{path}/{place}: expected an entry with {_render(value)}, and none of "
                    f"{len(seen)} has that"
                )
        if not expected and seen:
            yield f"{path}: expected nothing, and saw {len(seen)} entries"
    elif expected != seen or isinstance(expected, bool) is not isinstance(seen, bool):
        yield f"{path}: expected {_render(expected)}, saw {_render(seen)}"


def _fits(expected: Json, seen: Json) -> bool:
    return next(_hold(expected, seen, ""), None) is None


def _render(value: Json) -> str:
    spelt = canonical_json(value)
    return spelt if len(spelt) <= _SHOWN else f"{spelt[:_SHOWN]}…"
