"""What every check of a candidate is given and what it answers: contracts that kinds and gates
share.

Built (environment, tests) ─────────────┐
Posed (scenario, environment, siblings) ┴─► check(subject, means) ─► Finding (outcome, reason code, evidence)
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from envmill.verifiers.bounds import FindTruth
from schemas.base import Json, is_object
from schemas.environment import Environment, Test
from schemas.ledger import Attack, GateOutcome
from schemas.scenario import Scenario

P = TypeVar("P")

Probes = Literal["open", "sealed", "all"]


def deal(probes: Sequence[P], run: Probes) -> list[tuple[P, bool]]:
    """Probes that are run, each with whether it is sealed: every fourth is, and a single one is
    open."""
    dealt = [(probe, place % 4 == 3) for place, probe in enumerate(probes)]
    return [
        (probe, sealed) for probe, sealed in dealt if run == "all" or (run == "sealed") is sealed
    ]


@dataclass(frozen=True)
class EnvironmentCase:
    """An environment with its stored tests."""

    environment: Environment
    tests: tuple[Test, ...] = ()
    examples: tuple[dict[str, Json], ...] = ()
    """Further initial states it is known to take: those of its scenarios."""


@dataclass(frozen=True)
class ScenarioCase:
    """A scenario in its environment."""

    scenario: Scenario
    environment: Environment
    siblings: tuple[Scenario, ...] = ()
    """Other scenarios of the environment."""
    library: tuple[Attack, ...] = ()
    """Attacks that were once paid here or on a sibling."""


@dataclass(frozen=True)
class GateContext:
    """What gates work with besides the subject."""

    sandbox: Sandbox
    models: ModelSession | None = None
    """Who is asked where a gate needs opinions; without one such a gate is not measured."""
    seed: int = 0
    """Where chance begins: an audit with fresh seeds must come to the same."""
    episodes: int = 2000
    """Sequences the search attacker may try on a scenario, half of them blind to the request."""
    probes: Probes = "all"
    """Which probes are run. The repair loop runs the open ones only, so that an author is never
    told about a sealed one."""
    fairness: bool = True
    """Whether a model maps the demands of a scenario to the words that ask for them (S16)."""
    reviewed: int | None = None
    """Calls that the readers of W4 try; None for what its interface asks for."""
    find_truth: FindTruth | None = None
    """Finds an independent truth about a scenario's ends; without one the verifier's error rates
    are not measured."""
    observes: bool = False
    """Whether a gate that would drop the subject only records it, so that the gates behind it are
    asked as well."""
    held: frozenset[str] = frozenset()
    """Gates whose open probes held in the repair loop for this very content; verify runs their
    sealed ones."""

    @property
    def weighed(self) -> "GateContext":
        """For a gate that weighs its probes together: the open ones, or all. A few sealed ones
        alone say nothing about a share."""
        return self if self.probes == "open" else replace(self, probes="all")

    def choose(self, probes: Sequence[P]) -> list[P]:
        """Of a gate's probes, in a fixed order, those that are run."""
        return [probe for probe, _ in self.deal(probes)]

    def deal(self, probes: Sequence[P]) -> list[tuple[P, bool]]:
        """Those that are run, each with whether it is sealed."""
        return deal(probes, self.probes)

    def admits(self, sealed: bool) -> bool:
        """Whether a probe may be run, or a finding of one be told."""
        return self.probes == "all" or (self.probes == "sealed") is sealed


@dataclass(frozen=True)
class Finding:
    """One gate's answer; every answer is recorded."""

    gate: str
    outcome: GateOutcome
    reason: str = ""
    """Reason code, for counting."""
    detail: str = ""
    """What was seen, for reading."""
    evidence: Json = None
    """Dossier, when there is more to show."""
    seconds: float = 0.0
    question: str = ""
    """Of a suspicion: a neutral question about the item that a judge answers with yes or no; yes
    confirms the suspicion. It does not
    name the gate or what the gate would like to see."""
    sealed: bool = False
    """Whether only sealed probes found it; its evidence says so too."""
    others: tuple["Finding", ...] = ()
    """Further findings of the same gate about the same version: a complaint names all of them."""

    def timed(self, seconds: float) -> "Finding":
        return replace(self, seconds=seconds)

    def spread(self) -> Iterator["Finding"]:
        """This finding and the others, one after the other."""
        yield replace(self, others=())
        for other in self.others:
            yield from other.spread()


def keep(gate: str, evidence: Json = None) -> Finding:
    return Finding(gate, "kept", evidence=evidence)


def skip(gate: str, reason: str, detail: str, evidence: Json = None) -> Finding:
    """Not measured: what would be needed is not there."""
    return Finding(gate, "not_measured", reason, detail, evidence)


def pass_by(gate: str, reason: str, detail: str = "") -> Finding:
    """Not applicable: nothing of the kind to look at."""
    return Finding(gate, "not_applicable", reason, detail)


def fail(gate: str, reason: str, detail: str, evidence: Json = None) -> Finding:
    """The gate could not do its work: an outage, never a fault of the candidate."""
    return Finding(gate, "error", reason, detail, evidence)


def drop(gate: str, reason: str, detail: str, evidence: Json = None) -> Finding:
    return Finding(gate, "dropped", reason, detail, evidence)


def mark(finding: Finding, sealed: bool) -> Finding:
    """The finding of a probe, with a note where that was sealed: views compare what open and sealed
    probes find."""
    if not sealed:
        return finding
    shown: dict[str, Json] = (
        finding.evidence if is_object(finding.evidence) else {"found": finding.evidence}
    )
    return replace(finding, sealed=True, evidence=shown | {"sealed": True})


def doubt(gate: str, reason: str, detail: str, question: str, evidence: Json = None) -> Finding:
    """A suspicion: the outcome is settled by the class of its code, and a judge answers the
    question."""
    return Finding(gate, "dropped", reason, detail, evidence, question=question)


def gather(gate: str, findings: Sequence[Finding], evidence: Json = None) -> Finding:
    """One finding out of all that a gate has to say: the first, with the others behind it; `kept`
    where there is none."""
    return replace(findings[0], others=tuple(findings[1:])) if findings else keep(gate, evidence)


_WORST: tuple[GateOutcome, ...] = (
    "error",
    "dropped",
    "observed",
    "suspected",
    "corrected",
    "cleared",
    "not_measured",
    "kept",
    "not_applicable",
)


def merge_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """One finding for each gate, as the ledger has one row for each: the worst, with all of them in
    its evidence."""
    gates: dict[str, list[Finding]] = {}
    for finding in findings:
        gates.setdefault(finding.gate, []).append(finding)
    return tuple(
        _merge(sorted(found, key=lambda one: _WORST.index(one.outcome))) for found in gates.values()
    )


def _merge(found: Sequence[Finding]) -> Finding:
    if len(found) == 1:
        return found[0]
    told = [
        {
            "outcome": one.outcome,
            "reason": one.reason,
            "detail": one.detail,
            "evidence": one.evidence,
        }
        for one in found
    ]
    detail = "; ".join(
        dict.fromkeys(one.detail for one in found if one.outcome == found[0].outcome)
    )
    return replace(
        found[0],
        detail=detail,
        evidence={"findings": told},
        seconds=max(one.seconds for one in found),
    )


@dataclass
class Stopwatch:
    """Seconds of a block, readable after it."""

    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0


@contextmanager
def stopwatch() -> Generator[Stopwatch]:
    watch = Stopwatch()
    try:
        yield watch
    finally:
        watch.seconds = time.monotonic() - watch.began
