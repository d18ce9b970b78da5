"""Filter: what verified well may still be a repeat, a copy of what is protected, or nothing to
learn from for the probe's policy."""

from collections.abc import Sequence

from envmill.agents import find_policy
from envmill.agents.attempts import attempt, make_player, require_reached
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.calibration import describe, open_bench
from envmill.gates.f1 import require_solved
from envmill.gates.f2 import FEWEST, require_challenge
from envmill.gates.f3 import check_for_contamination, list_environment_texts, list_scenario_texts
from envmill.gates.f5 import is_settled
from envmill.gates.protecting.interface import ComparedWorld
from envmill.gates.protecting.same_task import AskedTask
from envmill.gates.s13 import replay_library
from envmill.models.gateway import ModelSession
from envmill.stages.context import EnvironmentWithTests, PlacedScenario, Result, RunContext, Subject
from envmill.stages.rehearsal import ask_judge
from envmill.verifiers.ruling import CalibratedJudge
from schemas.base import canonical_json
from schemas.ledger import Attack
from schemas.rollout import Rollout
from schemas.scenario import Scenario


async def filter_environment(
    subject: Subject[EnvironmentWithTests],
    context: RunContext,
    models: ModelSession,  # noqa: ARG001  no model is asked
) -> Result:
    """Beside the decision over the whole set, which is made before any subject is worked on."""
    environment, folders = (
        subject.record.environment,
        (context.settings.protected, context.settings.sketches),
    )
    found = check_for_contamination(
        list_environment_texts(environment), *folders, world=ComparedWorld.of(environment)
    )
    return Result(findings=(found,))


async def filter_scenario(
    subject: Subject[PlacedScenario[Scenario]], context: RunContext, models: ModelSession
) -> Result:
    """Probe rollouts by the named policy; all of them are kept as records. What costs nothing is
    asked first."""
    scenario, environment = subject.record.record, subject.record.environment
    contaminated = check_for_contamination(
        list_scenario_texts(scenario),
        context.settings.protected,
        context.settings.sketches,
        asked=AskedTask.of(scenario),
        world=ComparedWorld.of(environment, scenario.initial_state),
    )
    stops = not context.config.observe
    posed = ScenarioCase(
        scenario, environment, library=list_library(scenario, subject.record.attacks)
    )
    (contaminated,) = await ask_judge([contaminated], posed, context, models)
    if stops and contaminated.outcome == "dropped":
        return Result(findings=(contaminated,))
    replayed = await replay_library(
        posed, GateContext(context.sandbox, seed=context.config.run_seed)
    )
    if stops and replayed.outcome == "dropped":
        return Result(findings=(contaminated, replayed))
    bench = (
        await open_bench(posed, GateContext(context.sandbox, seed=context.config.run_seed), models)
        if context.config.judged
        else None
    )
    before = (contaminated, replayed, describe(bench)) if bench else (contaminated, replayed)
    probes = await _probe(subject.record, context, models, context.config.probe, "probe", bench)
    solved, drops = require_solved(probes), context.config.untrainable == "drop"
    if solved.outcome == "dropped" or context.config.weak in ("", context.config.probe):
        return Result(
            tuple(probes),
            (*before, solved, require_challenge(probes, context.config.trivial, drops=drops)),
        )
    weak = await _probe(subject.record, context, models, context.config.weak, "weak", bench)
    return Result(
        (*probes, *weak),
        (*before, solved, require_challenge(weak, context.config.trivial, drops=drops)),
    )


async def _probe(
    placed: PlacedScenario[Scenario],
    context: RunContext,
    models: ModelSession,
    policy: str,
    group: str,
    bench: CalibratedJudge | None,
) -> list[Rollout]:
    """Attempts until those that are left could change nothing; an outage among them is nobody's
    failure."""
    play = make_player(
        find_policy(policy),
        placed.record,
        placed.environment,
        context.sandbox,
        group,
        models,
        context.config,
        bench,
    )
    asked = context.config.pass_at if group == "probe" else None
    most = asked or context.config.attempts

    def enough(made: Sequence[Rollout]) -> bool:
        # pass@k is estimated without bias only where all attempts were made.
        return asked is None and len(made) >= FEWEST and is_settled(made, most)

    probes = [rollout async for rollout in attempt(play, enough, most)]
    require_reached(probes)
    return probes


def list_library(scenario: Scenario, attacks: Sequence[Attack]) -> tuple[Attack, ...]:
    """Attacks of its siblings, each once."""
    others = [one for one in attacks if one.scenario != scenario.id]
    return tuple(
        {
            canonical_json([[call.model_dump() for call in one.calls], one.said]): one
            for one in others
        }.values()
    )
