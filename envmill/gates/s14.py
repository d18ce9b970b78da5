"""S14: specificity: what answers a sibling's request does not answer this one."""

from envmill.gates.base import Finding, Means, Posed, drop, keep, pass_by
from envmill.gates.trials import Attempt, Trials
from schemas.base import Json

GATE = "S14"

_MOST = 12
"""Siblings looked at, those next in number first."""


async def look(subject: Posed, means: Means) -> Finding:
    """Their oracles from this start; only those that replay without a refusal say anything."""
    scenario = subject.scenario
    others = [one for one in subject.siblings if one.id != scenario.id and one.oracle and one.environment == scenario.environment]
    if not others:
        return pass_by(GATE, "no_siblings", "The environment has no other scenario with a reference path.")
    nearest = sorted(others, key=lambda one: (abs(one.number - scenario.number), one.id))[:_MOST]
    trials = Trials.of(subject, means)
    attempts = [Attempt(one.id, tuple(one.oracle), (one.say,) if one.say else ()) for one in nearest]
    played = await trials.once("siblings", lambda: trials.play(attempts))
    passing = [one for one, trial in zip(nearest, played, strict=True) if trial.verdict.outcome == "pass"]
    if passing:
        told: list[Json] = [
            {"sibling": one.id, "request": one.request, "calls": [call.model_dump() for call in one.oracle]} for one in passing
        ]
        return drop(GATE, "sibling_passes", f"the reference path of {passing[0].id} passes here", told)
    replayed = sum(all(reply.outcome == "ok" for reply in trial.replies) for trial in played)
    return keep(GATE, {"siblings": len(nearest), "replayed": replayed})
