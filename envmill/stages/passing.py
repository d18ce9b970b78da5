"""Passing the gates of a lap: in this process, or in a gate worker where many subjects wait.

repair loop   open probes of every loop gate, all findings: one complaint names them all
verify        all probes, up to the first drop; of gates that held in the loop for this very content, the sealed ones
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import (
    EnvironmentCase,
    Finding,
    Gate,
    GateContext,
    ScenarioCase,
    keep,
    skip,
    stopwatch,
)
from envmill.gates.exploring.ends import list_ends
from envmill.stages.gate_workers import GateWorkers
from envmill.verifiers.bounds import bound_errors
from schemas.base import digest
from schemas.ledger import Lap

BOUNDS = "bounds"
"""Under which the ledger has them: they are no gate, and stop nobody."""
NEEDED = frozenset(("W1", "W2", "W3", "S1"))
"""Gates without which the others cannot be asked: where one of them drops a version, the loop asks
no further."""
REPEATED = frozenset(("W2", "W3", "S1", "S2", "S7"))
"""Gates whose verdicts everything rests on: verify asks them whole, whatever the loop found."""

UNPLAYABLE = frozenset(("W1", "W2", "S1"))
"""Gates that drop in a run that observes, too: what they refuse cannot be played."""

T = TypeVar("T")


async def run_gates_anywhere(
    lap: Lap,
    subject: EnvironmentCase | ScenarioCase,
    means: GateContext,
    keepers: GateWorkers | None,
) -> list[Finding]:
    """Findings of the lap's gates that ask no model, here or in another process."""
    if keepers and keepers.busy():
        return await keepers.ask_gates(lap, subject, means)
    with keepers.here() if keepers else nullcontext():
        return await run_gates(subject, means)


async def run_gates(subject: EnvironmentCase | ScenarioCase, means: GateContext) -> list[Finding]:
    """A lap's gates that ask no model; in verify, of a scenario that passes them, the bounds."""
    if isinstance(subject, EnvironmentCase):
        return await pass_gates(_choose(ENVIRONMENT_GATES, means), subject, means, [])
    found = await pass_gates(_choose(SCENARIO_GATES, means), subject, means, [])
    return (
        found
        if means.probes == "open" or is_over(found)
        else [*found, await measure_bounds(subject, means)]
    )


def _choose(gates: Sequence[Gate[T]], means: GateContext) -> list[Gate[T]]:
    return [
        gate for gate in gates if not gate.asks and (means.probes != "open" or gate.when == "loop")
    ]


async def pass_gates(
    gates: Sequence[Gate[T]], subject: T, means: GateContext, found: Sequence[Finding]
) -> list[Finding]:
    """What was found before, and what these find: in verify until one says no, in the loop as far
    as they can be asked."""
    findings = list(found)
    for gate in gates:
        if is_over(
            findings if means.probes != "open" else [one for one in findings if one.gate in NEEDED]
        ):
            break
        with stopwatch() as watch:
            finding = await _ask(gate, subject, means)
        settled = [settle(gate, one) for one in finding.timed(watch.seconds).spread()]
        findings += observe(settled) if means.observes else settled
    return findings


async def _ask(gate: Gate[T], subject: T, means: GateContext) -> Finding:
    """All probes, or the sealed ones where the open ones held in the loop. A gate without sealed
    probes has nothing to add then."""
    if gate.name not in means.held or gate.name in REPEATED:
        return await gate.decide(subject, means)
    finding = await gate.decide(subject, replace(means, probes="sealed"))
    return (
        keep(gate.name, {"probes": "open"})
        if finding.outcome in ("not_measured", "not_applicable")
        else finding
    )


def settle(gate: Gate[T], finding: Finding) -> Finding:
    """A suspicion never drops alone: it rests on reading natural language, and no judge has
    confirmed it yet."""
    suspects = finding.outcome == "dropped" and gate.classify(finding.reason) == "suspicion"
    return replace(finding, outcome="suspected") if suspects else finding


def observe(found: Sequence[Finding]) -> list[Finding]:
    """The findings of a run that observes: what would have been dropped goes on, if it can be
    played."""
    return [
        replace(one, outcome="observed")
        if one.outcome == "dropped" and one.gate not in UNPLAYABLE
        else one
        for one in found
    ]


def is_over(found: Sequence[Finding]) -> bool:
    return any(one.outcome in ("dropped", "error") for one in found)


async def measure_bounds(posed: ScenarioCase, means: GateContext) -> Finding:
    """How often the verifier may be wrong, as far as an independent truth about its ends is
    known."""
    if means.find_truth is None:
        return skip(
            BOUNDS,
            "no_truth",
            "no model of the domain is known: the embedded author is not part of this run",
        )
    truth = means.find_truth(posed.scenario, posed.environment, means.seed)
    if isinstance(truth, str):
        return skip(BOUNDS, "no_truth", truth)
    ends = await list_ends(posed, means)
    return keep(
        BOUNDS,
        bound_errors((truth(ending.final), accepted) for ending, accepted in ends).model_dump(),
    )


def name_content(subject: EnvironmentCase | ScenarioCase) -> str:
    """Hash of all that a lap's gates look at: what the loop found of it holds for nothing else."""
    if isinstance(subject, ScenarioCase):
        return subject.scenario.id
    return digest([subject.environment.id, *sorted(test.id for test in subject.tests)])
