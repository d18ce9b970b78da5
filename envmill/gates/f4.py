"""F4, thin: no two scenarios of one environment ask the same thing in the same words."""

import re
from collections.abc import Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from schemas.scenario import Scenario

GATE = "F4"


def find_repeats(scenarios: Sequence[Scenario]) -> Mapping[str, Finding]:
    """A decision over the whole set, in id order: the first of a wording is kept."""
    first: dict[tuple[str, str], str] = {}
    findings: dict[str, Finding] = {}
    for scenario in sorted(scenarios, key=lambda one: one.id):
        words = " ".join(re.findall(r"\w+", scenario.request.casefold()))
        twin = first.setdefault((scenario.environment, words), scenario.id)
        findings[scenario.id] = keep(GATE) if twin == scenario.id else drop(GATE, "repeat", f"same request as {twin}", {"twin": twin})
    return findings
