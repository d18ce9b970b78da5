"""Proposes a wider verifier where the present one demands a random value. The proposal is tried on
played endings, and never adopted automatically."""

from envmill.base.errors import BuildError
from envmill.gates.exploring.trials import Trials
from envmill.kinds.trial import Trial
from envmill.verifiers.court import decide
from envmill.verifiers.diff import diff_states
from envmill.verifiers.typed import derive_end
from schemas.scenario import Verifier


async def widen(trials: Trials, right: Trial, other: Trial) -> Verifier | None:
    """The verifier with goals, guards and frame derived again from both endings. None unless it
    accepts both and rejects doing nothing."""
    one, two, nothing = right.ending, other.ending, (await trials.nothing()).ending
    if one is None or two is None or nothing is None:
        return None
    old = trials.scenario.verifier
    try:
        new = derive_end(
            trials.environment.tables,
            one.initial,
            diff_states(one.initial, one.final),
            diff_states(two.initial, two.final),
        )
    except BuildError:
        return None
    wider = old.model_copy(update={"goals": new.goals, "guards": new.guards, "frame": new.frame})
    verdicts = [
        await decide(trials.sandbox, wider, ending, trials.scenario.clock)
        for ending in (one, two, nothing)
    ]
    return wider if [verdict.outcome for verdict in verdicts] == ["pass", "pass", "fail"] else None
