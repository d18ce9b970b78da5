"""An initial state held to the program: it is kept as it was given, its records are alike, and what it refers to exists."""

from collections.abc import Iterator

from envmill.verifiers.diff import diff_states
from schemas.base import Json, is_object

_SHOWN = 3


def find_state_fault(given: dict[str, Json], kept: Json) -> tuple[str, str] | None:
    """(reason code, words) for a state that the program does not keep as it was given, or that does not hold together."""
    if differs := diff_states(given, kept):
        told = "; ".join(f"{'/'.join(one.path)}: {one.op} {str(one.before)[:60]!r} → {str(one.after)[:60]!r}" for one in differs[:_SHOWN])
        return "state_not_kept", f"constructed on the initial state, the program holds another one ({len(differs)} places): {told}"
    if odd := list(_list_odd(given)):
        told = "; ".join(odd[:_SHOWN])
        return "records_unlike", f"records of one collection must have the same attributes, `id` equal to their key: {told}"
    if lost := list(_list_lost(given)):
        return "reference_lost", f"what a record refers to must exist: {'; '.join(lost[:_SHOWN])}"
    return None


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
            named = {key: row[attribute] for key, row in rows.items() if isinstance(row[attribute], str) and row[attribute]}
            lost = {key: value for key, value in named.items() if value not in known}
            if _names_collection(attribute, state) or len(lost) < len(named):
                yield from (f"{name}/{key} has {attribute} {value!r}, which is no record" for key, value in lost.items())


def _names_collection(attribute: str, state: dict[str, Json]) -> bool:
    """`entry_id` names a record of `entries`; a `tracking_id` may be somebody else's number."""
    thing = attribute.removesuffix("_id")
    return any(name.startswith(thing[: max(3, len(thing) - 1)]) for name in state)


def _list_collections(state: dict[str, Json]) -> Iterator[tuple[str, dict[str, dict[str, Json]]]]:
    """Collections of records; what else a state holds is the program's own affair."""
    for name, rows in state.items():
        if is_object(rows) and rows and all(is_object(row) for row in rows.values()):
            yield name, rows
