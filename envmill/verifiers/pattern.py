"""A pattern: a JSON value in which parts that chance decides are holes.

    {"$any": "string"}   any value of that JSON type
    {"$row": 2}          the key of the row that goal 2 found

Both are spelled as objects with one reserved key; a state that uses such a key has no pattern.
"""

from collections.abc import Mapping
from typing import Literal

from envmill.errors import BuildError
from envmill.verifiers.diff import same
from schemas.base import Json, is_array, is_object

ANY, ROW = "$any", "$row"

Keys = Mapping[int, str]
"""Goal → key of the row it found."""


def make_pattern(value: Json, twin: Json, rows: Mapping[tuple[str, str], int]) -> Json:
    """What two runs agree on. `rows` tells which pairs of generated keys name the same new row."""
    if is_object(value) and (ANY in value or ROW in value):
        raise BuildError(f"The state holds an object with the key {ANY} or {ROW}, which checks reserve. Use another key.")
    if isinstance(value, str) and isinstance(twin, str) and (value, twin) in rows:
        return {ROW: rows[value, twin]}
    if is_object(value) and is_object(twin) and value.keys() == twin.keys():
        return {key: make_pattern(value[key], twin[key], rows) for key in value}
    if is_array(value) and is_array(twin) and len(value) == len(twin):
        return [make_pattern(one, other, rows) for one, other in zip(value, twin, strict=True)]
    return value if same(value, twin) else {ANY: name_type(value)}


def fits(value: Json, pattern: Json, keys: Keys) -> bool:
    """Whether a value is what the pattern asks for. A row nobody has found yet may have any key."""
    hole = _find_hole(pattern)
    if hole == ANY:
        return name_type(value) == pattern[ANY]
    if hole == ROW:
        return isinstance(value, str) and keys.get(pattern[ROW], value) == value
    if is_object(pattern) and is_object(value):
        return pattern.keys() == value.keys() and all(fits(value[key], pattern[key], keys) for key in pattern)
    if is_array(pattern) and is_array(value):
        return len(pattern) == len(value) and all(fits(one, other, keys) for one, other in zip(value, pattern, strict=True))
    return same(value, pattern)


def says_something(pattern: Json) -> bool:
    """Whether any part of it is not left to chance."""
    if _find_hole(pattern):
        return False
    parts = list(pattern.values()) if is_object(pattern) else pattern if is_array(pattern) else None
    return True if not parts else any(says_something(part) for part in parts)


def is_chance(pattern: Json) -> bool:
    """Whether the whole value is left to chance."""
    return _find_hole(pattern) == ANY


def name_type(value: Json) -> str:
    """JSON's name of a value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if is_array(value) else "object"


def _find_hole(pattern: Json) -> Literal["$any", "$row"] | None:
    if is_object(pattern) and len(pattern) == 1:
        return ANY if ANY in pattern else ROW if ROW in pattern else None
    return None
