"""Whether two ends are the same up to chance: generated keys may be others, everything else is the same."""

from collections.abc import Iterator, Mapping

from schemas.base import Json, canonical_json, is_array, is_object

_MASK = "#"


def outline(initial: Json, final: Json) -> str:
    """The end with generated keys masked and new rows in an order of their own: equal texts, same end."""
    masked = frozenset(_list_new_keys(initial, final))
    return canonical_json(_mask(final, masked))


def is_same_end(initial: Json, one: Json, other: Json) -> bool:
    return one == other or outline(initial, one) == outline(initial, other)


def list_generated(initial: Json, final: Json) -> frozenset[str]:
    """Keys the program made up."""
    return frozenset(_list_new_keys(initial, final))


def _list_new_keys(before: Json, after: Json) -> Iterator[str]:
    if is_object(after):
        known: Mapping[str, Json] = before if is_object(before) else {}
        for key, value in after.items():
            if is_object(before) and key not in known and is_object(value):
                yield key
            if key in known:
                yield from _list_new_keys(known[key], value)
    elif is_array(after):
        known_ids = {row.get("id") for row in before if is_object(row)} if is_array(before) else set[Json]()
        yield from (row["id"] for row in after if is_object(row) and isinstance(row.get("id"), str) and row["id"] not in known_ids)


def _mask(value: Json, masked: frozenset[str]) -> Json:
    if is_object(value):
        plain = {key: _mask(one, masked) for key, one in value.items() if key not in masked}
        strange = sorted(canonical_json(_mask(one, masked)) for key, one in value.items() if key in masked)
        return {**plain, _MASK: strange} if strange else plain
    if is_array(value):
        return [_mask(one, masked) for one in value]
    return _MASK if isinstance(value, str) and value in masked else value
