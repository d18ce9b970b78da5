"""A gate: one function that takes a subject and returns a finding. Gates and kinds share the types
of both."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar, cast

from envmill.kinds import kind_of
from envmill.kinds.findings import (
    EnvironmentCase,
    Finding,
    GateContext,
    Probes,
    ScenarioCase,
    Stopwatch,
    deal,
    doubt,
    drop,
    fail,
    gather,
    keep,
    mark,
    merge_findings,
    pass_by,
    skip,
    stopwatch,
)
from schemas.ledger import Lap, ReasonClass

__all__ = [
    "EnvironmentCase",
    "Finding",
    "Gate",
    "GateContext",
    "Probes",
    "ScenarioCase",
    "Stopwatch",
    "When",
    "deal",
    "doubt",
    "drop",
    "fail",
    "gather",
    "keep",
    "mark",
    "merge_findings",
    "pass_by",
    "skip",
    "stopwatch",
]

T = TypeVar("T")

When = Literal["loop", "set", "late"]
"""In the repair loop and again in verify; over a whole set; or after the loop, never sent back."""


@dataclass(frozen=True)
class Gate(Generic[T]):
    """One admission check."""

    name: str
    """W1 … W13, S1 … S18, F1 … F5."""
    lap: Lap
    """Which lap it belongs to."""
    title: str
    """The question that it asks about a candidate."""
    check: Callable[[T, GateContext], Awaitable["Finding"]]
    """The function."""
    required: bool = True
    """Whether an item it could not measure is provisional."""
    asks: bool = False
    """Whether it asks models: it is then passed last, in the process that has the door."""
    when: When = "loop"
    """When it is asked."""
    codes: Mapping[str, ReasonClass] = field(default_factory=dict[str, ReasonClass])
    """Class of each reason code it may report; a key that ends in `*` covers every code with that
    prefix."""

    async def decide(self, subject: T, means: GateContext) -> "Finding":
        """The gate's finding. If it would drop the subject and sessions were reset in place, the
        check runs again with fresh sessions, and only the second finding counts."""
        finding = await self.check(subject, means)
        in_place = (
            means.sandbox.searches
            and kind_of(cast("EnvironmentCase | ScenarioCase", subject).environment).resets_in_place
        )
        if finding.outcome != "dropped" or self.asks or not in_place:
            return finding
        return await self.check(subject, replace(means, sandbox=means.sandbox.careful))

    def classify(self, reason: str) -> ReasonClass:
        """Class of a reason code. The contract test finds codes without a class; until then they
        count as proof."""
        if reason in self.codes:
            return self.codes[reason]
        for code, kind in self.codes.items():
            if code.endswith("*") and reason.startswith(code[:-1]):
                return kind
        return "proof"
