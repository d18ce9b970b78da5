"""Evidence: each failed part of a verifier, with the expected and the found value, as plain
JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envmill.verifiers.checks import MISSING, find_value
from envmill.verifiers.facts import Shortfall
from schemas.base import Json, canonical_json
from schemas.scenario import Change, Check, Fact, Predicate

_LONGEST = 600
"""Maximal characters of a value that the evidence shows."""


@dataclass(frozen=True)
class Failing:
    """One part of a verifier that did not hold."""

    component: str
    name: str
    expected: Json
    found: Mapping[str, Json]
    """`{"found": value}`; empty if no value was there."""
    reason: str
    """The same in words."""
    weight: float = 1.0
    place: str = ""
    """Collection that a part of the end state is about; empty for other parts."""

    def describe(self) -> Json:
        """The stored form. A missing value has no key, because null is a value."""
        shown = {name: _clip(value) for name, value in self.found.items()}
        return {
            "component": self.component,
            "name": self.name,
            "expected": _clip(self.expected),
            **shown,
        }


def show_check(component: str, check: Check, final: Json, added: Sequence[Change] = ()) -> Failing:
    """A broken guard or a missed goal. If a new row is missing, the evidence shows the other new
    rows of its collection."""
    what = "guard broken" if component == "guards" else "goal missed"
    expected: dict[str, Json] = {"op": check.op, "path": check.path}
    if check.op in ("equals", "present"):
        expected["value"] = check.value
    if check.op == "present":
        found: dict[str, Json] = {
            "found": {
                change.path[-1]: change.after for change in added if change.path[:-1] == check.path
            }
        }
    else:
        here = MISSING if check.op == "generated" else find_value(final, check.path)
        found = {} if here is MISSING else {"found": here}
    return Failing(
        component,
        check.name,
        expected,
        found,
        f"{what}: {check.name}",
        check.weight,
        next(iter(check.path), ""),
    )


def show_change(change: Change) -> Failing:
    """A change that neither the frame nor a goal declares."""
    place = ".".join(change.path)
    expected = {} if change.op == "add" else {"value": change.before}
    found = {} if change.op == "remove" else {"found": change.after}
    return Failing(
        "frame",
        place,
        {"path": change.path, **expected},
        found,
        f"change outside the frame: {change.op} {place}",
        place=change.path[0],
    )


def show_predicate(component: str, predicate: Predicate, found: Json) -> Failing:
    """A predicate over the calls, and the calls that break it."""
    what = "harm done" if component == "harm" else "procedure not followed"
    written = predicate.model_dump(mode="json", exclude_defaults=True)
    del written["name"]
    return Failing(
        component, predicate.name, written, {"found": found}, f"{what}: {predicate.name}"
    )


def show_fact(fact: Fact, shortfall: Shortfall) -> Failing:
    """A fact that the agent did not tell the user, and what it said instead."""
    written = fact.model_dump(
        mode="json", include={"kind", "value", "also", "rivals"}, exclude_defaults=True
    )
    return Failing(
        "facts", fact.name, written, shortfall or {}, f"not communicated: {fact.name}", fact.weight
    )


def _clip(value: Json) -> Json:
    """The value. A long value becomes the beginning of its JSON, with its length."""
    rendered = canonical_json(value)
    return (
        value
        if len(rendered) <= _LONGEST
        else f"{rendered[:_LONGEST]}… ({len(rendered)} characters)"
    )
