"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from envmill.author.truth import find_truth
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import Built, Finding, Gate, Means, Posed, keep, skip, stopwatch
from envmill.gates.ends import list_ends
from envmill.gates.suspicions import asks_judge, rule_on_suspicions
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from envmill.verifiers.bounds import bound_errors
from schemas.ledger import Attack, Lap
from schemas.scenario import Scenario

BOUNDS = "bounds"
"""Under which the ledger has them: they are no gate, and stop nobody."""

T = TypeVar("T")


async def verify_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:
    """The environments' gates. Models are asked for opinions only where the run wants that."""
    built = Built(subject.record.environment, subject.record.tests)
    found = await _hear_judge(await _look_somewhere("environments", built, mill), built, mill, account)
    asked = account if mill.config.review else None
    opinions = [gate for gate in ENVIRONMENT_GATES if gate.asks]
    return Result(findings=tuple(await _pass_gates(opinions, built, Means(mill.sandbox, asked, mill.config.seed or 0), found)))


async def verify_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:
    """The scenarios' gates. A model is asked about suspicions only."""
    placed = subject.record
    posed = Posed(placed.record, placed.environment, tuple(one for one in placed.siblings if one.id != placed.record.id))
    found = await _hear_judge(await _look_somewhere("scenarios", posed, mill), posed, mill, account)
    return Result(tuple(list_attacks(placed.record, found)), tuple(found))


async def look(subject: Built | Posed, means: Means) -> list[Finding]:
    """A lap's gates that ask no model; of a scenario that passes them, the bounds."""
    if isinstance(subject, Built):
        return await _pass_gates([gate for gate in ENVIRONMENT_GATES if not gate.asks], subject, means, [])
    found = await _pass_gates(SCENARIO_GATES, subject, means, [])
    return found if _is_over(found) else [*found, await measure_bounds(subject, means)]


async def _look_somewhere(lap: Lap, subject: Built | Posed, mill: Mill) -> list[Finding]:
    """Here, or in another process where many wait."""
    seed, keepers = mill.config.seed or 0, mill.keepers
    if keepers and keepers.busy():
        return await keepers.look(lap, subject, seed, mill.config.search)
    with keepers.here() if keepers else nullcontext():
        return await look(subject, Means(mill.sandbox, seed=seed, episodes=mill.config.search))


async def _hear_judge(found: list[Finding], subject: Built | Posed, mill: Mill, account: Account) -> list[Finding]:
    """The findings once a judge has read each suspicion, where the run asks one. Of an item that is dropped anyway nobody is asked."""
    if _is_over(found) or not asks_judge(mill.config.suspicions, account):
        return found
    return await rule_on_suspicions(found, subject, account, mill.calibrations)


async def measure_bounds(posed: Posed, means: Means) -> Finding:
    """How often the verifier may be wrong, as far as an independent truth about its ends is known."""
    truth = find_truth(posed.scenario, posed.environment, means.seed)
    if isinstance(truth, str):
        return skip(BOUNDS, "no_truth", truth)
    ends = await list_ends(posed, means)
    return keep(BOUNDS, bound_errors((truth(ending.final), accepted) for ending, accepted in ends).model_dump())


def list_attacks(scenario: Scenario, findings: Sequence[Finding]) -> Iterator[Attack]:
    """What the search attacker was paid for. A machine is attacked by forgers that are known by name: there is nothing to remember."""
    found: dict[str, Attack] = {}
    searched = [finding.evidence for finding in findings if finding.gate == "S13" and finding.evidence]
    for attack in (each for evidence in searched for each in evidence.get("attacks", ())):
        told = {name: attack[name] for name in ("manner", "calls", "said", "reward", "solves", "final_state_hash")}
        one = Attack.model_validate({"environment": scenario.environment, "scenario": scenario.id} | told)
        found.setdefault(one.id, one)
    yield from found.values()


async def _pass_gates(gates: Sequence[Gate[T]], subject: T, means: Means, found: Sequence[Finding]) -> list[Finding]:
    """What was found before, and what these find until one says no."""
    findings = list(found)
    for gate in gates:
        if _is_over(findings):
            break
        with stopwatch() as watch:
            finding = await gate.look(subject, means)
        findings += [settle(gate, one) for one in finding.timed(watch.seconds).spread()]
    return findings


def settle(gate: Gate[Any], finding: Finding) -> Finding:
    """A suspicion never drops alone: it rests on reading natural language, and no judge has confirmed it yet."""
    suspects = finding.outcome == "dropped" and gate.classify(finding.reason) == "suspicion"
    return replace(finding, outcome="suspected") if suspects else finding


def _is_over(found: Sequence[Finding]) -> bool:
    return any(one.outcome in ("dropped", "error") for one in found)
