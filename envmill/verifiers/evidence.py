"""Evidence: what failed of a verifier, with what it asks for and what was found instead, as plain
JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envmill.verifiers.checks import MISSING, find_value
from envmill.verifiers.facts import Shortfall
from schemas.base import Json, canonical_json
from schemas.scenario import Change, Check, Fact, Predicate

_LONGEST = 600
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Failing:
    """One part of a verifier that did not hold."""

    component: str
    name: str
    expected: Json
    found: Mapping[str, Json]
    """`{"found": value}`, and nothing where nothing was there."""
    reason: str
    """The same in words."""
    weight: float = 1.0
    place: str = ""
    """Collection that it is about, of a part of the end state."""

    def describe(self) -> Json:
        """As it is stored. A key is left out where nothing was there: null is a value."""
        shown = {name: _clip(value) for name, value in self.found.items()}
        return {
            "component": self.component,
            "name": self.name,
            "expected": _clip(self.expected),
            **shown,
        }


def show_check(component: str, check: Check, final: Json, added: Sequence[Change] = ()) -> Failing:
    """A guard that broke, or a goal that was missed; for a row that was wanted, the new rows beside
    it."""
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
    """A change that nothing declared."""
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
    """What the user was not told, and what was said."""
    written = fact.model_dump(
        mode="json", include={"kind", "value", "also", "rivals"}, exclude_defaults=True
    )
    return Failing(
        "facts", fact.name, written, shortfall or {}, f"not communicated: {fact.name}", fact.weight
    )


def _clip(value: Json) -> Json:
    """A long value as the beginning of its JSON, marked as such."""
    spelled = canonical_json(value)
    return (
        value if len(spelled) <= _LONGEST else f"{spelled[:_LONGEST]}… ({len(spelled)} characters)"
    )
