"""An initial state held to the program: it is kept as it was given, its records are alike, and what
it refers to exists."""

from collections.abc import Iterator

from envmill.verifiers.diff import diff_states
from schemas.base import Json, is_object

_SHOWN = 20
_PLURAL = 3
"""Letters that a plural has more, at most."""


def find_state_faults(given: dict[str, Json], kept: Json) -> list[tuple[str, str]]:
    """(reason code, words) of everything by which the program does not keep a state as given, or
    the state does not hold together."""
    faults = list[tuple[str, str]]()
    if differs := diff_states(given, kept):
        places = [
            f"{'/'.join(one.path)}: {one.op} {str(one.before)[:60]!r} → {str(one.after)[:60]!r}"
            for one in differs
        ]
        words = (
            f"constructed on the initial state, the program holds another one ({len(differs)} "
            f"places): {_join(places)}"
        )
        faults.append(("state_not_kept", words))
    if odd := list(_list_odd(given)):
        faults.append(
            (
                "records_unlike",
                "records of one collection must have the same attributes, `id` equal to their "
                f"key: {_join(odd)}",
            )
        )
    if lost := list(_list_lost(given)):
        faults.append(("reference_lost", f"what a record refers to must exist: {_join(lost)}"))
    return faults


def _join(places: list[str]) -> str:
    left = len(places) - _SHOWN
    return "; ".join([*places[:_SHOWN], *([f"and {left} more"] if left > 0 else [])])


def _list_odd(state: dict[str, Json]) -> Iterator[str]:
    for name, rows in _list_collections(state):
        usual = set(next(iter(rows.values())))
        for key, row in rows.items():
            if set(row) != usual:
                yield f"{name}/{key} has {sorted(set(row) ^ usual)} other than the first"
            elif row.get("id", key) != key:
                yield f"{name}/{key} has the id {row['id']!r}"


def _list_lost(state: dict[str, Json]) -> Iterator[str]:
    known = {key for _, rows in _list_collections(state) for key in rows}
    for name, rows in _list_collections(state):
        for attribute in (each for each in next(iter(rows.values())) if each.endswith("_id")):
            named = {
                key: row[attribute]
                for key, row in rows.items()
                if isinstance(row[attribute], str) and row[attribute]
            }
            lost = {key: value for key, value in named.items() if value not in known}
            if _names_collection(attribute, state) or len(lost) < len(named):
                yield from (
                    f"{name}/{key} has {attribute} {value!r}, which is no record"
                    for key, value in lost.items()
                )


def _names_collection(attribute: str, state: dict[str, Json]) -> bool:
    """`entry_id` names a record of `entries`; a `tracking_id` may be somebody else's number, and a
    `player_id` beside `player_sessions`
    a name that another service gives."""
    thing = attribute.removesuffix("_id")
    return any(
        name.startswith(thing[: max(3, len(thing) - 1)]) and len(name) <= len(thing) + _PLURAL
        for name in state
    )


def _list_collections(state: dict[str, Json]) -> Iterator[tuple[str, dict[str, dict[str, Json]]]]:
    """Collections of records; what else a state holds is the program's own affair."""
    for name, rows in state.items():
        if is_object(rows) and rows and all(is_object(row) for row in rows.values()):
            yield name, rows
