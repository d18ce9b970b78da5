"""S14: specificity: the answer to a sibling's request does not answer this one."""

from collections.abc import Mapping

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, pass_by
from envmill.gates.exploring.trials import Attempt, Trials
from envmill.language.words import split_words
from schemas.base import Json, canonical_json
from schemas.ledger import ReasonClass
from schemas.scenario import LEFT_ALONE, Scenario

GATE = "S14"
CODES: Mapping[str, ReasonClass] = {
    "sibling_passes": "proof",
    "repeats_sibling": "proof",
}

_MOST = 12
"""Siblings looked at, those next in number first."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Their oracles from this start; only those that replay without a refusal say anything."""
    scenario = subject.scenario
    others = [
        one
        for one in subject.siblings
        if one.id != scenario.id and one.oracle and one.environment == scenario.environment
    ]
    if not others:
        return pass_by(
            GATE, "no_siblings", "The environment has no other scenario with a reference path."
        )
    nearest = sorted(others, key=lambda one: (abs(one.number - scenario.number), one.id))[:_MOST]
    trials = Trials.of(subject, means)
    attempts = [
        Attempt(one.id, tuple(one.oracle), (one.say,) if one.say else ()) for one in nearest
    ]
    played = await trials.once("siblings", lambda: trials.play(attempts))
    passing = [
        one for one, trial in zip(nearest, played, strict=True) if trial.verdict.outcome == "pass"
    ]
    repeats = [one for one in passing if await is_mutual(subject, one, means)]
    strange = [one for one in passing if one not in repeats]
    if strange:
        return drop(
            GATE,
            "sibling_passes",
            f"the reference path of {strange[0].id} passes here",
            [show(one) for one in strange],
        )
    # Where the words are the same as well, F4 says so, which decides over the whole set.
    reworded = [
        one
        for one in repeats
        if split_words(one.request) != split_words(scenario.request)
        and not is_elsewhere(scenario, one)
    ]
    if earlier := [
        one for one in reworded if (one.number, one.id) < (scenario.number, scenario.id)
    ]:
        return drop(
            GATE,
            "repeats_sibling",
            f"{earlier[0].id} asks for the same end from the same start",
            [show(one) for one in earlier],
        )
    replayed = sum(all(reply.outcome == "ok" for reply in trial.replies) for trial in played)
    return keep(
        GATE,
        {
            "siblings": len(nearest),
            "replayed": replayed,
            "repeated_by": [one.id for one in repeats],
        },
    )


async def is_mutual(subject: ScenarioCase, sibling: Scenario, means: GateContext) -> bool:
    """Whether the reference path of each scenario passes at the other. Then both are the same wish,
    and only the first may stay."""
    (trial,) = await Trials.of(ScenarioCase(sibling, subject.environment), means).play(
        [Trials.of(subject, means).path()]
    )
    return trial.verdict.outcome == "pass"


def is_elsewhere(scenario: Scenario, sibling: Scenario) -> bool:
    """Whether both leave something alone, and not the same thing: the reason may well be the same,
    and is all that is asked for."""
    mine, theirs = ({*map(canonical_json, one.user.facts.values())} for one in (scenario, sibling))
    return (
        {scenario.polarity, sibling.polarity} <= LEFT_ALONE
        and bool(mine)
        and bool(theirs)
        and not mine & theirs
    )


def show(sibling: Scenario) -> Json:
    return {
        "sibling": sibling.id,
        "request": sibling.request,
        "calls": [call.model_dump() for call in sibling.oracle],
    }
