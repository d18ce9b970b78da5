"""Predicates over the calls of a rollout, whatever state the calls led to.

Only calls that ended in `ok` had an effect. If a rule refused a call that a predicate names, the
refusal counts, because it states the rule. A broken predicate comes with the calls that break it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from envmill.language.told import ReplyValues
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.pattern import Keys, fits
from schemas.base import Json, is_object
from schemas.scenario import CallPattern, Predicate

Broken: TypeAlias = list[Json] | None
"""The calls that were found instead; None if the predicate holds."""
_MALFORMED = frozenset({"invalid_arguments", "unknown_tool", "malformed_call"})
"""Codes of refusals that come before any rule is checked."""


def find_breach(predicate: Predicate, deeds: Sequence[CompletedCall], keys: Keys) -> Broken:
    """Why a predicate does not hold for the deeds; None if it holds."""
    done = [deed for deed in deeds if deed.outcome == "ok"]
    made = [place for place, deed in enumerate(done) if is_meant(predicate.call, deed, keys)]
    if predicate.op in ("required", "seen") and _was_refused(predicate, deeds, keys):
        return None
    if predicate.op == "required":
        return None if made else []
    if predicate.op == "seen":
        return (
            None
            if any(shows(done[place].told, predicate.shows) for place in made)
            else _describe(done, made)
        )
    if predicate.op == "only":
        other = [
            place
            for place in made
            if not any(is_meant(one, done[place], keys) for one in predicate.among)
        ]
        return _describe(done, other) if other else None
    if predicate.op == "after":
        return _find_late(predicate, done, made, keys)
    if predicate.op == "before":
        return _find_unprepared(predicate, done, made, keys)
    allowed = predicate.most if predicate.op == "at_most" else 0
    return None if len(made) <= allowed else _describe(done, made[allowed:])


def is_meant(pattern: CallPattern, deed: CompletedCall, keys: Keys) -> bool:
    """Whether a deed matches a call pattern. A deed without an argument that the pattern has does
    not match."""
    call = deed.call
    if call.actor != pattern.actor or pattern.name not in ("", call.name):
        return False
    return all(
        name in call.arguments and fits(call.arguments[name], value, keys)
        for name, value in pattern.arguments.items()
    )


def _was_refused(predicate: Predicate, deeds: Sequence[CompletedCall], keys: Keys) -> bool:
    """Whether a rule refused one of the calls whose refusal shows what the predicate asks for."""
    refused = [
        deed for deed in deeds if deed.outcome == "rejection" and deed.code not in _MALFORMED
    ]
    return any(is_meant(pattern, deed, keys) for pattern in predicate.refused for deed in refused)


def shows(told: ReplyValues, values: Sequence[Json]) -> bool:
    """Whether one reply holds every value (of a row, those of its fields)."""
    return all(
        told.holds(leaf)
        for value in values
        for leaf in (value.values() if is_object(value) else [value])
    )


def _find_unprepared(
    predicate: Predicate, done: Sequence[CompletedCall], made: Sequence[int], keys: Keys
) -> Broken:
    first = predicate.first
    earliest = next(
        (place for place, deed in enumerate(done) if first is None or is_meant(first, deed, keys)),
        len(done),
    )
    early = [place for place in made if place <= earliest]
    return _describe(done, early) if early else None


def _find_late(
    predicate: Predicate, done: Sequence[CompletedCall], made: Sequence[int], keys: Keys
) -> Broken:
    first = predicate.first
    earliest = next(
        (
            place
            for place, deed in enumerate(done)
            if first is not None and is_meant(first, deed, keys)
        ),
        len(done),
    )
    late = [place for place in made if place > earliest]
    return _describe(done, late) if late else None


def _describe(done: Sequence[CompletedCall], places: Sequence[int]) -> list[Json]:
    return [describe_call(done[place], place) for place in places[:5]]


def describe_call(deed: CompletedCall, place: int) -> Mapping[str, Json]:
    """A call as evidence shows it."""
    return {
        "place": place,
        "name": deed.call.name,
        "arguments": deed.call.arguments,
        "actor": deed.call.actor,
    }
