"""Tests as an author writes them: under the name of their tool, each with the arguments that the
tool accepts or refuses.

{"lend_tool": [{"accepts": {"tool_id": "tool_1"}, "reply": {…}}, {"refuses": {"tool_id": "tool_2"}}]} ◄─► [test, test]
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import (
    SerializerFunctionWrapHandler,
    ValidationError,
    WithJsonSchema,
    model_serializer,
)

from schemas.base import Contract, Json, is_array, is_object, leave_out
from schemas.environment import Call

Expect = Literal["success", "rejection"]
_ENDS: Mapping[str, Expect] = {"accepts": "success", "refuses": "rejection"}
_OPTIONAL = ("name", "setup", "rows", "reply", "after")


class ToolTest(Contract):
    """A call, and how it must end."""

    name: str = ""
    """What is tried, in words. A test without a name is called by its tool and its place among the
    tests of the tool."""
    call: Call
    """The call under test."""
    expect: Expect = "success"
    """Success, or an anticipated rejection; anything else is a failure."""
    reply: Json = None
    """Part of the reply to a success: an object's values under their names, and for each entry of a
    list one that fits it."""
    after: dict[str, dict[str, Json]] = {}
    """Part of the state after the call: collection → key → values. `*` is a row that the test made,
    or a list of such rows;
    null is a row that is not there."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # An empty list, nought and false are expectations too.
        return leave_out(write(self), "after", *(() if self.reply is not None else ("reply",)))


T = TypeVar("T", bound=ToolTest)


def read_as(record: type[T]) -> Callable[[Json], Json]:
    """A reader of tests under their tools. A list is what older prompts asked for; it stays as it
    is."""

    def read(value: Json) -> Json:
        return list(_read_tools(record, value)) if is_object(value) else value

    return read


def _read_tools(record: type[T], value: Mapping[str, Json]) -> Iterator[T]:
    for tool, listed in value.items():
        if not is_array(listed):
            raise ValueError(f"the tests of {tool} are no list")
        for number, written in enumerate(listed, 1):
            yield _read(record, tool, number, written)


def _read(record: type[T], tool: str, number: int, written: Json) -> T:
    told = written if is_object(written) else {}
    ends = [end for end in _ENDS if end in told]
    strange = sorted(told.keys() - {*_OPTIONAL, "actor", *_ENDS})
    if len(ends) != 1 or strange:
        more = f"; there is no {', '.join(strange)}" if strange else ""
        raise ValueError(
            f"test {number} of {tool} needs the arguments of its call, under `accepts` or under "
            f"`refuses`{more}"
        )
    call = {
        "name": tool,
        "arguments": told[ends[0]],
        **{name: told[name] for name in ("actor",) if name in told},
    }
    rest = {name: told[name] for name in _OPTIONAL if name in told}
    try:
        return record.model_validate({**rest, "call": call, "expect": _ENDS[ends[0]]})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(ends[0] if part == "arguments" else str(part) for part in fault["loc"])
        raise ValueError(
            f"test {number} of {tool}, {place.removeprefix('call.')}: {fault['msg']}"
        ) from None


def name_all(tests: Sequence[T]) -> list[T]:
    """A test that its author gave no name, by its tool and its place among the tests of the
    tool."""
    return [
        test if test.name else test.model_copy(update={"name": name})
        for test, name in zip(tests, _list_names(tests), strict=True)
    ]


def write_tests(tests: Sequence[ToolTest]) -> dict[str, Json]:
    """As they are asked for."""
    found: dict[str, Json] = {}
    for test, name in zip(tests, _list_names(tests), strict=True):
        told: dict[str, Json] = test.model_dump(mode="json", exclude={"call", "expect"})
        end = next(end for end, expected in _ENDS.items() if expected == test.expect)
        called: dict[str, Json] = {
            end: test.call.arguments,
            **({"actor": test.call.actor} if test.call.actor != "agent" else {}),
        }
        before = {
            field: told[field]
            for field in ("name", "setup", "rows")
            if told.get(field) not in (name, None, [])
        }
        listed: list[Json] = found.setdefault(test.call.name, [])
        listed.append(
            before | called | {field: told[field] for field in ("reply", "after") if field in told}
        )
    return found


def _list_names(tests: Sequence[ToolTest]) -> Iterator[str]:
    seen = Counter[str]()
    for test in tests:
        seen[test.call.name] += 1
        yield f"{test.call.name} {seen[test.call.name]}"


def describe_tests(*required: str, **more: Json) -> WithJsonSchema:
    """What authors are shown: tool → tests, with fields that only some tests have."""
    told: dict[str, Json] = {
        "name": {"type": "string"},
        **more,
        "accepts": {"type": "object", "description": "Arguments of a call that must succeed."},
        "refuses": {
            "type": "object",
            "description": "Arguments of a call that must be refused. A test has this or `accepts`.",
        },
        "reply": {"description": "Part of the reply to what is accepted, as JSON."},
        "after": {
            "type": "object",
            "additionalProperties": {"type": "object"},
            "description": "Part of the state after the call: collection → key → values.",
        },
    }
    test: Json = {"type": "object", "properties": told, "required": list(required)}
    return WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": "array", "items": test}}
    )
