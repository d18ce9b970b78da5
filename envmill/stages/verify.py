"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.gates import ENVIRONMENT_GATES, GATES, s17
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase, fail
from envmill.models.gateway import ModelSession
from envmill.stages.context import EnvironmentWithTests, PlacedScenario, Result, RunContext, Subject
from envmill.stages.passing import is_over, name_content, observe, pass_gates, run_gates_anywhere
from envmill.stages.rehearsal import LOOP, ask_judge, ask_reader
from schemas.base import digest
from schemas.ledger import Attack, GateOutcome, Lap
from schemas.scenario import Scenario

AGAIN = 10
"""Of so many items one is put to all probes again, and must come to what the loop found."""


async def verify_environment(
    subject: Subject[EnvironmentWithTests], context: RunContext, models: ModelSession
) -> Result:
    """The environments' gates. Models are asked for opinions only where the run wants that."""
    built = EnvironmentCase(subject.record.environment, subject.record.tests)
    found = await _check("environments", built, subject.record.held, context)
    if not is_over(found):  # of an item that is dropped anyway the judge is asked nothing
        found = await _rule(found, built, context, models)
    asked = models if context.config.review else None
    opinions, means = (
        [gate for gate in ENVIRONMENT_GATES if gate.asks],
        replace(_make_means(context), models=asked, reviewed=context.config.reviewed),
    )
    reviewed = (await pass_gates(opinions, built, means, found))[len(found) :]
    return Result(findings=(*found, *await _rule(reviewed, built, context, models)))


async def verify_scenario(
    subject: Subject[PlacedScenario[Scenario]], context: RunContext, models: ModelSession
) -> Result:
    """The scenarios' gates. A model is asked about suspicions, and where one plays the user."""
    placed = subject.record
    posed = ScenarioCase(
        placed.record,
        placed.environment,
        tuple(one for one in placed.siblings if one.id != placed.record.id),
    )
    found = await _check("scenarios", posed, placed.held, context)
    if not is_over(found):
        found = await _rule(found, posed, context, models)
    if context.config.person == "model" and context.config.form != "single" and not is_over(found):
        found = await _ask_user(posed, context, models, found)
    if not is_over(found):
        found = _let_pass(await ask_reader(found, posed, context, models), context)
    return Result(tuple(list_attacks(placed.record, found)), tuple(found))


async def _rule(
    found: Sequence[Finding],
    subject: EnvironmentCase | ScenarioCase,
    context: RunContext,
    models: ModelSession,
) -> list[Finding]:
    """The findings once a judge has read each suspicion."""
    return _let_pass(await ask_judge(found, subject, context, models), context)


def _let_pass(found: Sequence[Finding], context: RunContext) -> list[Finding]:
    return observe(found) if context.config.observe else list(found)


def _make_means(context: RunContext) -> GateContext:
    return GateContext(
        context.sandbox, seed=context.config.run_seed, observes=context.config.observe
    )


async def _ask_user(
    posed: ScenarioCase, context: RunContext, models: ModelSession, found: Sequence[Finding]
) -> list[Finding]:
    """What the scripted user tells is said of exports that carry it; what the model tells is said
    of this run's conversations. What the
    judge was asked about the opening stays as it was ruled: the gate only suspects the same words
    again."""
    means = replace(_make_means(context), models=models)
    others = [
        one for one in found if one.gate != s17.GATE or one.outcome in ("suspected", "cleared")
    ]
    asked = await pass_gates([GATES[s17.GATE]], posed, means, [])
    return [*others, *(one for one in asked if one.outcome != "suspected")]


async def _check(
    lap: Lap,
    subject: EnvironmentCase | ScenarioCase,
    held: Mapping[str, GateOutcome],
    context: RunContext,
) -> list[Finding]:
    """Judged again in a fresh process. What held in the loop is put to the sealed probes; of one
    item in ten the loop is repeated."""
    means = replace(
        _make_means(context), episodes=context.config.search, find_truth=context.find_truth
    )
    if held and int(digest(name_content(subject), 8), 16) % AGAIN == 0:
        repeated = await run_gates_anywhere(
            lap, subject, replace(means, probes="open"), context.keepers
        )
        if differing := sorted(
            {
                one.gate
                for one in repeated
                if held.get(one.gate) == "kept" and one.outcome in ("dropped", "error")
            }
        ):
            words = (
                f"{', '.join(differing)} held in the repair loop and does not hold for the same "
                "content now"
            )
            return [*repeated, fail(LOOP, "not_repeated", words)]
    passed = frozenset(gate for gate, outcome in held.items() if outcome == "kept")
    return await run_gates_anywhere(lap, subject, replace(means, held=passed), context.keepers)


def list_attacks(scenario: Scenario, findings: Sequence[Finding]) -> Iterator[Attack]:
    """What the search attacker was paid for. A machine is attacked by forgers that are known by
    name: there is nothing to remember."""
    found: dict[str, Attack] = {}
    searched = [
        finding.evidence for finding in findings if finding.gate == "S13" and finding.evidence
    ]
    for attack in (each for evidence in searched for each in evidence.get("attacks", ())):
        told = {
            name: attack[name]
            for name in ("manner", "calls", "said", "reward", "solves", "final_state_hash")
        }
        one = Attack.model_validate(
            {"environment": scenario.environment, "scenario": scenario.id} | told
        )
        found.setdefault(one.id, one)
    yield from found.values()
