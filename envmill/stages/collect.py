"""Collect: teacher rollouts, rejection sampling, a cap per scenario, and preferences among attempts
that ended otherwise."""

from collections.abc import Sequence

from envmill.agents import find_policy
from envmill.agents.attempts import ROUND, attempt, make_player, require_reached
from envmill.agents.transcript import (
    describe_deeds,
    list_messages,
    list_sampled,
    list_shown,
    list_tools,
    weigh_messages,
)
from envmill.gates.base import GateContext, ScenarioCase, drop
from envmill.gates.calibration import open_bench
from envmill.models.gateway import ModelSession
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.pairs import pair_rollouts
from schemas.base import canonical_json
from schemas.environment import Environment
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Scenario


async def collect_trajectories(
    subject: Subject[PlacedScenario[Scenario]], context: RunContext, models: ModelSession
) -> Result:
    """Probes of the same policy are used again; attempts end with enough distinct passes, or a
    round that brought none that is new."""
    placed, keep = subject.record, context.config.keep
    teacher = find_policy(context.config.teacher)
    known = [
        one
        for one in placed.rollouts
        if one.rollout_group == "probe" and context.config.probe == context.config.teacher
    ]
    # What a judge was asked of the scenario at the filter it is not asked again: its replies are
    # journalled.
    posed, means = (
        ScenarioCase(placed.record, placed.environment),
        GateContext(context.sandbox, seed=context.config.run_seed),
    )
    bench = await open_bench(posed, means, models) if context.config.judged else None
    play = make_player(
        teacher,
        placed.record,
        placed.environment,
        context.sandbox,
        "teacher",
        models,
        context.config,
        bench,
    )
    left = max(0, context.config.attempts - len(known))
    # Numbers go on where the probes ended: the same attempt again would get the same replies.
    made = [
        one
        async for one in attempt(
            play, lambda new: _is_enough(known, new, keep), left, first=len(known)
        )
    ]
    require_reached(made)
    pairs = pair_rollouts(
        [*placed.rollouts, *made], placed.record, placed.environment, context.config.pairs
    )
    sifted, findings = context.recipe.sift([*known, *made], placed.record)
    chosen = choose(sifted, keep)
    if not chosen:
        words = f"none of {len(known) + len(made)} rollouts of the teacher passes"
        return Result((*made, *pairs), (*findings, drop("rejection", "no_pass", words)))
    return Result(
        (
            *made,
            *(make_trajectory(one, placed.record, placed.environment) for one in chosen),
            *pairs,
        ),
        findings,
    )


def _is_enough(known: Sequence[Rollout], new: Sequence[Rollout], keep: int) -> bool:
    found, before = choose([*known, *new], keep), choose([*known, *new[:-ROUND]], keep)
    return len(found) >= keep or (len(new) >= ROUND and 0 < len(found) == len(before))


def choose(rollouts: Sequence[Rollout], cap: int) -> list[Rollout]:
    """Passing rollouts, those paid in full first and of them the shortest, no two of one form that
    did the same."""
    distinct: dict[str, Rollout] = {}
    for rollout in sorted(rollouts, key=lambda one: (-(one.reward or 0.0), one.steps, one.attempt)):
        if rollout.outcome == "pass":
            distinct.setdefault(canonical_json([rollout.form, describe_deeds(rollout)]), rollout)
    return list(distinct.values())[:cap]


def make_trajectory(rollout: Rollout, scenario: Scenario, environment: Environment) -> Trajectory:
    """The transcript as chat messages; what the policy said is trained on, what it was told and
    what it got wrong is not."""
    shown = list_shown(rollout.transcript)
    return Trajectory(
        rollout=rollout.id,
        scenario=rollout.scenario,
        environment=rollout.environment,
        policy=rollout.policy,
        messages=list_messages(rollout),
        tools=list_tools(environment),
        loss=weigh_messages(shown),
        state_hashes=[entry["state_hash"] for entry in shown if "state_hash" in entry],
        reward=rollout.reward or 0.0,
        licence=environment.licence,
        form=rollout.form,
        features=scenario.features,
        split=scenario.split,
        manner=rollout.manner,
        sampled=list_sampled(rollout.transcript),
    )
