"""Gates by kind: a kind has its own check, a reason why the gate does not apply, or the check that
all other kinds get.

Gate.check ──kind_of(subject)──► its own check ─► finding        a reason ─► not applicable        neither ─► the common check
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import TypeVar

from envmill.kinds import KINDS, kind_of
from envmill.kinds.findings import EnvironmentCase, Finding, GateContext, ScenarioCase, pass_by
from schemas.ledger import ReasonClass

T = TypeVar("T", EnvironmentCase, ScenarioCase)


def by_kind(
    name: str, check: Callable[[T, GateContext], Awaitable[Finding]]
) -> Callable[[T, GateContext], Awaitable[Finding]]:
    """A gate that asks the subject's kind first."""

    @wraps(check)
    async def ask(subject: T, means: GateContext) -> Finding:
        kind = kind_of(subject.environment)
        own = kind.gates.get(name, check)
        return pass_by(name, kind.name, own) if isinstance(own, str) else await own(subject, means)

    return ask


def find_codes(name: str, codes: Mapping[str, ReasonClass]) -> dict[str, ReasonClass]:
    """Codes of a gate, those of kinds with a check of their own too."""
    found = dict(codes)
    for kind in KINDS.values():
        found |= kind.codes.get(name, {})
    return found
