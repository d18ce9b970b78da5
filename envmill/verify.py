"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Sequence
from typing import TypeVar

from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import Built, Finding, Gate, Means, Posed, stopwatch
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from schemas.scenario import Scenario

T = TypeVar("T")


async def verify_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:
    """The environments' gates. Models are asked for opinions only where the run wants that."""
    asked = account if mill.config.review else None
    built = Built(subject.record.environment, subject.record.tests)
    return await _pass_gates(ENVIRONMENT_GATES, built, Means(mill.sandbox, asked, mill.config.seed or 0))


async def verify_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:
    """The scenarios' gates."""
    placed = subject.record
    posed = Posed(placed.record, placed.environment, tuple(one for one in placed.siblings if one.id != placed.record.id))
    return await _pass_gates(SCENARIO_GATES, posed, Means(mill.sandbox, account, mill.config.seed or 0))


async def _pass_gates(gates: Sequence[Gate[T]], subject: T, means: Means) -> Result:
    findings: list[Finding] = []
    for gate in gates:
        with stopwatch() as watch:
            finding = await gate.look(subject, means)
        findings.append(finding.timed(watch.seconds))
        if finding.outcome in ("dropped", "error"):
            break
    return Result(findings=tuple(findings))
