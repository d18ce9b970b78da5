"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from envmill.author.truth import find_truth
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import Built, Finding, Gate, Means, Posed, keep, skip, stopwatch
from envmill.gates.ends import list_ends
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from envmill.verifiers.bounds import bound_errors
from schemas.ledger import Attack
from schemas.scenario import Scenario

BOUNDS = "bounds"
"""Under which the ledger has them: they are no gate, and stop nobody."""

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
    means = Means(mill.sandbox, account, mill.config.seed or 0, mill.config.search)
    result = await _pass_gates(SCENARIO_GATES, posed, means)
    bounds = () if result.stopped_by else (await measure_bounds(posed, means),)
    return Result(tuple(list_attacks(placed.record, result.findings)), (*result.findings, *bounds))


async def measure_bounds(posed: Posed, means: Means) -> Finding:
    """How often the verifier may be wrong, as far as an independent truth about its ends is known."""
    truth = find_truth(posed.scenario, posed.environment, means.seed)
    if isinstance(truth, str):
        return skip(BOUNDS, "no_truth", truth)
    ends = await list_ends(posed, means)
    return keep(BOUNDS, bound_errors((truth(ending.final), accepted) for ending, accepted in ends).model_dump())


def list_attacks(scenario: Scenario, findings: Sequence[Finding]) -> Iterator[Attack]:
    """What the search attacker was paid for."""
    found: dict[str, Attack] = {}
    for attack in (each for finding in findings if finding.gate == "S13" and finding.evidence for each in finding.evidence["attacks"]):
        told = {name: attack[name] for name in ("manner", "calls", "said", "reward", "solves", "final_state_hash")}
        one = Attack.model_validate({"environment": scenario.environment, "scenario": scenario.id} | told)
        found.setdefault(one.id, one)
    yield from found.values()


async def _pass_gates(gates: Sequence[Gate[T]], subject: T, means: Means) -> Result:
    findings: list[Finding] = []
    for gate in gates:
        with stopwatch() as watch:
            finding = await gate.look(subject, means)
        findings.append(finding.timed(watch.seconds))
        if finding.outcome in ("dropped", "error"):
            break
    return Result(findings=tuple(findings))
