"""Calls of a reference path that use results: read as an author writes them, recorded as they were
made, and made again.

author's calls ─► link ─► played ─► record ─► stored: plain arguments, labels, uses
stored calls ─► played in another session ─► settle ─► the calls as they were made there
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.runtime.results import (
    Reference,
    fill,
    find_references,
    list_pointers,
    put,
    read_pointer,
    read_reply,
)
from envmill.sandbox.plan import Observation
from schemas.base import Json
from schemas.environment import Call, ResultUse, Tool


@dataclass(frozen=True)
class BadReference:
    """A reference that no session can fill."""

    number: int
    """Number of the call that holds it, from 1."""
    reference: Reference
    words: str
    """What is wrong with it."""


def link(calls: Sequence[Call], tools: Sequence[Tool]) -> tuple[list[Call], list[BadReference]]:
    """The calls with their references as uses that are still to be recorded, and the references
    that cannot be filled."""
    calls, schemas = write_references(calls), {tool.name: tool.parameters for tool in tools}
    found = [find_references(call.arguments, schemas.get(call.name, {})) for call in calls]
    named = {reference.call for references in found for reference in references}
    linked: list[Call] = []
    for number, (call, references) in enumerate(zip(calls, found, strict=True), 1):
        uses = [
            ResultUse(
                into=one.into,
                call=one.call,
                path=one.path,
                was=read_pointer(call.arguments, one.into),
            )
            for one in references
        ]
        linked.append(
            call.model_copy(update={"label": number if number in named else 0, "uses": uses})
        )
    return linked, [
        bad
        for number, references in enumerate(found, 1)
        for one in references
        for bad in _object(number, one, calls)
    ]


def _object(number: int, reference: Reference, calls: Sequence[Call]) -> Iterator[BadReference]:
    if not 0 < reference.call <= len(calls):
        yield BadReference(
            number, reference, f"there is no call {reference.call}; calls are counted from 1"
        )
    elif reference.call >= number:
        what = "this call itself" if reference.call == number else "a later call"
        yield BadReference(
            number,
            reference,
            f"call {reference.call} is {what}; only the result of an earlier call is known",
        )
    elif others := {calls[place - 1].actor for place in (reference.call, number)} - {"agent"}:
        yield BadReference(
            number,
            reference,
            "only the agent sees replies and fills arguments, and a call of the two is "
            f"{others.pop()}'s",
        )
    elif reference.path and not reference.path.startswith("/"):
        yield BadReference(
            number, reference, f"{reference.path!r} is no JSON pointer; write /{reference.path}"
        )


def record(calls: Sequence[Call], seen: Sequence[Observation]) -> list[Call]:
    """Linked calls with the values that this session gave them: what a path is stored as. All of
    them must have succeeded."""
    recorded: list[Call] = []
    for call, made in zip(calls, settle(calls, seen), strict=True):
        uses = [
            use.model_copy(update={"was": read_pointer(made.arguments, use.into)})
            for use in call.uses
        ]
        recorded.append(
            call.model_copy(update={"arguments": made.arguments, "uses": uses}) if uses else call
        )
    return recorded


def settle(calls: Sequence[Call], seen: Sequence[Observation]) -> list[Call]:
    """The calls as this session was sent them, without labels and uses."""
    results: dict[int, Json] = {}
    settled: list[Call] = []
    for call, reply in zip(calls, seen, strict=True):
        settled.append(settle_one(call, results)[0])
        if call.label and reply.outcome == "ok":
            results[call.label] = read_reply(reply.parts)
    return settled


def settle_one(call: Call, results: Mapping[int, Json]) -> tuple[Call, str]:
    """One call as it is sent, and why it cannot be; empty where it can."""
    if not (call.uses or call.label):
        return call, ""
    arguments, lacking = fill(call.arguments, [use.model_dump() for use in call.uses], results)
    return Call(name=call.name, arguments=arguments, actor=call.actor), lacking


def write_references(calls: Sequence[Call]) -> list[Call]:
    """Stored calls as an author would write them."""
    written: list[Call] = []
    for call in calls:
        arguments = call.arguments
        for use in call.uses:
            arguments = put(arguments, use.into, {"from": use.call, "path": use.path})
        written.append(call.model_copy(update={"arguments": arguments, "label": 0, "uses": []}))
    return written


def uses_result(calls: Sequence[Call], earlier: int, later: int) -> bool:
    """Whether the call at place `later` (from 0) of a stored path uses the result of the one at
    `earlier`."""
    label = calls[earlier].label
    return bool(label) and any(use.call == label for use in calls[later].uses)


def find_result(value: Json, replies: Sequence[Json]) -> Reference | None:
    """The first of the replies that holds the value, as a reference into it; `into` is empty."""
    for number, reply in enumerate(replies, 1):
        for pointer, held in list_pointers(reply):
            if held == value and type(held) is type(value):
                return Reference("", number, pointer)
    return None


def refer_to(
    values: Collection[Json], calls: Sequence[Call], replies: Sequence[Json]
) -> list[Call]:
    """The calls with a reference in place of each argument that is one of the values and that an
    earlier reply holds."""
    written: list[Call] = []
    for place, call in enumerate(calls):
        arguments = call.arguments
        for pointer, value in list_pointers(call.arguments):
            if (
                isinstance(value, str)
                and value in values
                and (found := find_result(value, replies[:place]))
            ):
                arguments = put(arguments, pointer, {"from": found.call, "path": found.path})
        written.append(call.model_copy(update={"arguments": arguments}))
    return written
