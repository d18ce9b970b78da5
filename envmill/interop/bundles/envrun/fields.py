"""Fields of a JSON object out of a folder, each of its type; a complaint names file, place and
mend."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from .files import fault

Fields: TypeAlias = Mapping[str, Any]
"""Field → its type, or several."""
Object: TypeAlias = dict[str, Any]

_WORDS = {
    str: "text",
    dict: "an object",
    list: "a list",
    int: "an integer",
    (dict, str): "an object or text",
    (int, float): "a number",
}


def fit(file: str, value: Any, fields: Fields, place: str = "") -> Object:
    """A value out of a file as an object that has these fields."""
    if not isinstance(value, dict):
        raise fault(file, "it is no object", "Write a JSON object there.", place)
    found: Object = value  # pyright: ignore[reportUnknownVariableType]
    for name, kind in fields.items():
        if name not in found:
            raise fault(file, f"the field {name!r} is missing", "Add it.", place)
        if not isinstance(found[name], kind) or isinstance(found[name], bool):
            mend = f"Write {_WORDS[kind]}."
            raise fault(file, f"the field {name!r} is {str(found[name])[:80]!r}", mend, place)
    return found
