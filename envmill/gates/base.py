"""A finding: what a gate says of a candidate, and what it saw."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from schemas.base import Json
from schemas.ledger import GateOutcome


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

    def timed(self, seconds: float) -> "Finding":
        return replace(self, seconds=seconds)


def keep(gate: str, evidence: Json = None) -> Finding:
    return Finding(gate, "kept", evidence=evidence)


def drop(gate: str, reason: str, detail: str, evidence: Json = None) -> Finding:
    return Finding(gate, "dropped", reason, detail, evidence)


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
