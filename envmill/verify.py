"""Verify: the gates, cheapest first, stopping at the first drop."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from envmill.gates.base import Finding, stopwatch
from envmill.gates.s1 import replay_oracle
from envmill.gates.s2 import attack
from envmill.gates.w1 import lint_interface
from envmill.gates.w2 import construct
from envmill.gates.w3 import run_tests
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from schemas.scenario import Scenario


async def verify_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """W1, W2, W3."""
    environment, tests = subject.record.environment, subject.record.tests
    return await _pass_gates(
        lambda: lint_interface(environment),
        lambda: construct(environment, tests, mill.sandbox),
        lambda: run_tests(environment, tests, mill.sandbox),
    )


async def verify_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """S1, S2."""
    scenario, environment = subject.record.record, subject.record.environment
    return await _pass_gates(
        lambda: replay_oracle(scenario, environment, mill.sandbox),
        lambda: attack(scenario, environment, mill.sandbox),
    )


async def _pass_gates(*gates: Callable[[], Finding | Awaitable[Finding]]) -> Result:
    findings: list[Finding] = []
    for gate in gates:
        with stopwatch() as watch:
            answer = gate()
            finding = await answer if isawaitable(answer) else answer
        findings.append(finding.timed(watch.seconds))
        if finding.outcome in ("dropped", "error"):
            break
    return Result(findings=tuple(findings))
