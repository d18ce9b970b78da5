"""Results: arguments of a reference path that the replies to earlier calls fill.

written by an author    {"offer_id": {"from": 3, "path": "/id"}}       `from` counts calls from 1, `path` is a JSON pointer (RFC 6901)
stored                  {"offer_id": "ofr_7c2e"}, as it was made, and beside it
                        {"into": "/offer_id", "call": 3, "path": "/id", "was": "ofr_7c2e"}
played                  what call 3 is answered in this session stands there

Arguments always hold plain values: a reader of a stored path never meets a reference. A use counts
only while the argument holds what it held when the path was recorded, so a changed argument (a near
miss, a slip) stays as it was changed.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (JSON has no types)

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any

NO_RESULT = "no_result"
"""Code of a call that cannot be made, because the reply it needs is not there."""


class Reference(NamedTuple):
    """A place in the arguments of a call, and the earlier reply that fills it."""

    into: str
    """JSON pointer into the arguments."""
    call: int
    """Number of the earlier call, from 1."""
    path: str
    """JSON pointer into its reply."""


def find_references(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> list[Reference]:
    """References in arguments as an author writes them; `schema` is that of the tool's
    parameters."""
    return [
        Reference(into, value["from"], value["path"])
        for into, value in _walk(arguments, schema, "")
    ]


def read_reply(parts: Sequence[Mapping[str, Json]]) -> Json:
    """The reply that pointers lead into: the value of its only part, or a list of the values of
    several."""
    values = [part.get("value", part.get("text")) for part in parts]
    return values[0] if len(values) == 1 else values


def read_pointer(value: Json, pointer: str) -> Json:
    """The value at a JSON pointer; LookupError, with words for the step that leads nowhere."""
    for step in _split(pointer):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise LookupError(f"{step!r} is not there: {_describe(value)}")
    return value


def put(arguments: Mapping[str, Json], pointer: str, value: Json) -> dict[str, Json]:
    """A copy of the arguments with another value at an existing place."""
    whole = {"": deepcopy(dict(arguments))}
    *way, last = ["", *_split(pointer)]
    place: Json = whole
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return whole[""]


def fill(
    arguments: Mapping[str, Json], uses: Sequence[Mapping[str, Json]], results: Mapping[int, Json]
) -> tuple[dict[str, Json], str]:
    """The arguments with the results of this session, and why a result is not there; empty where
    all are."""
    filled = dict(arguments)
    for use in uses:
        try:
            if read_pointer(arguments, use["into"]) != use["was"]:
                continue
        except LookupError:
            continue
        if use["call"] not in results:
            return (
                filled,
                f"It needs the reply to call {use['call']} of the path, which was not made or "
                "did not succeed.",
            )
        try:
            filled = put(filled, use["into"], read_pointer(results[use["call"]], use["path"]))
        except LookupError as error:
            return (
                filled,
                f"It needs {use['path']} of the reply to call {use['call']} of the path. "
                f"{error.args[0]}.",
            )
    return filled, ""


def list_pointers(value: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    """(JSON pointer, plain value) of everything inside that is no object and no list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from list_pointers(inner, f"{pointer}/{_escape(str(name))}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from list_pointers(inner, f"{pointer}/{place}")
    else:
        yield pointer, value


def is_reference(value: Json) -> bool:
    """Whether a value is written as a reference: exactly two keys, a number of a call and a JSON
    pointer."""
    return (
        isinstance(value, dict)
        and value.keys() == {"from", "path"}
        and type(value["from"]) is int
        and isinstance(value["path"], str)
    )


def _walk(value: Json, schema: Json, pointer: str) -> Iterator[tuple[str, dict[str, Json]]]:
    if is_reference(value) and not _declares(schema):
        yield pointer, value
    elif isinstance(value, dict):
        properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
        for name, inner in value.items():
            yield from _walk(inner, properties.get(name, {}), f"{pointer}/{_escape(name)}")
    elif isinstance(value, list):
        items = schema.get("items", {}) if isinstance(schema, dict) else {}
        for place, inner in enumerate(value):
            yield from _walk(inner, items, f"{pointer}/{place}")


def _declares(schema: Json) -> bool:
    """Whether a tool itself takes an object with these two keys: then the object is a value like
    any other."""
    forms = [schema, *schema.get("anyOf", ())] if isinstance(schema, dict) else []
    return any({"from", "path"} <= form.get("properties", {}).keys() for form in forms)


def _describe(value: Json) -> str:
    if isinstance(value, dict):
        return f"the object has {', '.join(map(str, value)) or 'no keys'}"
    return (
        f"the list has {len(value)} items"
        if isinstance(value, list)
        else "the value is no object and no list"
    )


def _split(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise LookupError(f"{pointer!r} does not begin with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
