"""What a reviewer locked of a thing: told to whoever repairs it, and looked for in what comes
back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemas.base import Json, canonical_json
from schemas.prompts import WrittenCheck
from schemas.scenario import Check

REASON = "locked"

Parts = Mapping[str, str]
"""Name → content: a rule is its own name."""


def render_rules(rules: Iterable[str]) -> dict[str, str]:
    return {rule: rule for rule in rules}


def render_facts(facts: Mapping[str, Json]) -> dict[str, str]:
    return {name: canonical_json(value) for name, value in facts.items()}


def render_checks(checks: Iterable[Check | WrittenCheck]) -> dict[str, str]:
    """By what they assert; what each weighs depends on how many others there are."""
    return {
        one.name: one.source or canonical_json(one.model_dump(mode="json", exclude={"weight"}))
        for one in checks
    }


@dataclass(frozen=True)
class Locked:
    """Parts that must stay as they were."""

    parts: Parts = field(default_factory=dict[str, str])

    def render(self) -> list[str]:
        """As a repair is told."""
        return [
            name if name == content else f"{name}: {content}"
            for name, content in self.parts.items()
        ]

    def within(self, parts: Parts) -> "Locked":
        """Those that a version holds as they were locked."""
        return Locked(
            {name: content for name, content in self.parts.items() if parts.get(name) == content}
        )

    def beyond(self, parts: Parts) -> "Locked":
        """Those that it does not."""
        return Locked(
            {name: content for name, content in self.parts.items() if parts.get(name) != content}
        )

    def find_faults(self, parts: Parts) -> list[str]:
        """One for each part that a version changes; empty when all of them stand."""
        return [
            f"It changes {name!r}, which a reviewer locked: that must stay word for word."
            for name in self.beyond(parts).parts
        ]
