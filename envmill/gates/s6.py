"""S6: right work passes whatever way the agent does it: in another order, with more reads, with an
error and a retry, undone and redone, or in other words."""

from collections.abc import Mapping, Sequence
from typing import Literal

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark, skip
from envmill.gates.exploring.attempts import pick
from envmill.gates.exploring.detours import plan_detours, plan_returns
from envmill.gates.exploring.equivalence import is_same_end
from envmill.gates.exploring.trials import Attempt, Trials, describe_reply
from envmill.gates.mutating.widening import widen
from envmill.kinds.trial import Trial
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.ledger import ReasonClass

GATE = "S6"
CODES: Mapping[str, ReasonClass] = {
    "refuses_*": "proof",
    "oracle_rests_on_chance": "proof",
}

Fate = Literal["passed", "refused", "elsewhere", "not_so"]


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Detours that lead to the same end must pass. A path that leads elsewhere is no detour."""
    if not subject.scenario.oracle:
        return skip(GATE, "no_oracle", "There is no reference path to vary.")
    trials = Trials.of(subject, means)
    right = (await trials.oracle())[0]
    if right.verdict.outcome != "pass":
        return skip(
            GATE, "oracle_fails", f"The reference path itself does not pass: {right.verdict.reason}"
        )
    if finding := await check_elsewhere(subject, means):
        return finding
    played = sorted(await play_detours(trials, right, means), key=lambda pair: pair[0].sealed)
    fates = [
        (attempt, trial, find_fate(attempt, trial, right, subject)) for attempt, trial in played
    ]
    refused = [(attempt, trial) for attempt, trial, fate in fates if fate == "refused"]
    if refused:
        attempt, trial = refused[0]
        told = [show(each, one) for each, one in refused]
        words = f"{attempt.label}: {trial.verdict.reason}"
        return mark(
            drop(GATE, f"refuses_{attempt.label}", words, {"refused": told, "widened": None}),
            attempt.sealed,
        )
    return keep(GATE, {"passed": [attempt.label for attempt, _, fate in fates if fate == "passed"]})


async def check_elsewhere(subject: ScenarioCase, means: GateContext) -> Finding | None:
    """Other ids, clock and seed. Where the verifier took chance for a wish, the two ends say how to
    widen it."""
    trials = Trials.of(subject, means)
    right, other = (await trials.oracle())[0], await trials.elsewhere()
    if other.verdict.outcome == "pass":
        return None
    if any(
        reply.outcome != wanted.outcome
        for reply, wanted in zip(other.replies, right.replies, strict=True)
    ):
        replies: list[Json] = [describe_reply(reply) for reply in other.replies]
        return drop(
            GATE,
            "oracle_rests_on_chance",
            "under another clock and seed the reference path is refused",
            replies,
        )
    widened = await widen(trials, right, other)
    evidence: Json = {
        "refused": [show(trials.path(), other)],
        "widened": widened.model_dump() if widened else None,
    }
    return drop(
        GATE, "refuses_chance", f"under another clock and seed: {other.verdict.reason}", evidence
    )


async def play_detours(
    trials: Trials, right: Trial, means: GateContext
) -> list[tuple[Attempt, Trial]]:
    """All detours that are run, in two messages: a way back has to be found before it can be
    gone."""

    async def play_all() -> list[tuple[Attempt, Trial]]:
        planned = plan_detours(trials.posed)
        first = pick([each for each in planned if each.label != "undo"], means)
        undone = [each for each in planned if each.label == "undo"]
        tried = list(zip([*first, *undone], await trials.play([*first, *undone]), strict=True))
        returns = pick(plan_returns(trials.posed, tried[len(first) :], right), means)
        kept = tried[: len(first)]
        return kept + list(zip(returns, await trials.play(returns), strict=True))

    return await trials.once(f"{means.probes} detours", play_all)


def find_fate(attempt: Attempt, trial: Trial, right: Trial, subject: ScenarioCase) -> Fate:
    """Whether right work was refused. A slip that was not refused by the program is none."""
    if trial.ending is None or right.ending is None:
        return "not_so"
    if not _went_as_planned(attempt, trial):
        return "not_so"
    if not is_same_end(
        trial.ending.initial,
        trial.ending.final,
        right.ending.final,
        subject.environment.tables,
        subject.scenario.verifier,
    ):
        return "elsewhere"
    if trial.verdict.outcome == "pass":
        return "passed"
    # An order the procedure asks for is no detour: `before` and `at_most` speak of the way itself.
    return (
        "not_so"
        if attempt.label in ("order", "undo_and_redo")
        and trial.verdict.components.get("procedure", 1.0) < 1.0
        else "refused"
    )


def _went_as_planned(attempt: Attempt, trial: Trial) -> bool:
    outcomes = [reply.outcome for reply in trial.replies]
    if attempt.label == "retry":
        return outcomes[attempt.place] == "rejection" and all(
            each == "ok" for n, each in enumerate(outcomes) if n != attempt.place
        )
    return all(each == "ok" for each in outcomes)


def show(attempt: Attempt, trial: Trial) -> Json:
    """The detour, its end, and the failures found there."""
    ending = trial.ending
    changes: Sequence[Json] = (
        [one.model_dump() for one in diff_states(ending.initial, ending.final)[:10]]
        if ending
        else []
    )
    return {
        "detour": attempt.label,
        "calls": [call.model_dump() for call in attempt.calls],
        "said": list(ending.said) if ending else [],
        "verdict": trial.verdict.model_dump(),
        "changes": changes,
    }
