"""Evaluates checks about one place of a state. Generated checks run elsewhere; the caller passes in
their results."""

from collections.abc import Mapping

from envmill.verifiers.diff import same
from envmill.verifiers.pattern import Keys, fits, is_chance, list_named_rows
from schemas.base import Json, is_object
from schemas.scenario import Check

MISSING = object()


Said = Mapping[str, bool]
"""Source of a generated check → whether it holds for the state that is judged."""


def holds(check: Check, initial: Json, final: Json, keys: Keys, said: Said) -> bool:
    """Whether the check is true of the final state. If any value is allowed, the value must at
    least differ from the value at the start. This also applies to the key of a new row that is not
    matched yet."""
    if check.op == "generated":
        return said[check.source]
    found = find_value(final, check.path)
    if check.op == "absent":
        return found is MISSING
    if found is MISSING or not fits(found, check.value, keys):
        return False
    any_will_do = is_chance(check.value) or any(
        number not in keys for number in list_named_rows(check.value)
    )
    return not any_will_do or not same(found, find_value(initial, check.path))


def find_value(state: Json, path: list[str]) -> Json:
    """The value at a path, or a marker no JSON value equals."""
    for key in path:
        if not is_object(state) or key not in state:
            return MISSING
        state = state[key]
    return state
