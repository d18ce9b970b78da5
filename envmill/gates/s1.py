"""S1: the oracle replays twice with the same end. None of its writes is refused, and it passes."""

from collections.abc import Mapping, Sequence

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, skip
from envmill.gates.exploring.trials import Trials, describe_reply, list_writes
from envmill.kinds.trial import Trial
from schemas.base import Json, is_array
from schemas.ledger import ReasonClass

GATE = "S1"
CODES: Mapping[str, ReasonClass] = {
    "does_not_construct": "proof",
    "oracle_fails_to_run": "proof",
    "oracle_rejected": "proof",
    "read_rejected": "proof",
    "not_judged": "proof",
    "oracle_fails": "proof",
    "oracle_differs": "proof",
}
DECLARED = "refused_reads"
"""Feature of a scenario: places of reads that are meant to be refused, as where the answer is that
something is not there."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Two private copies; both must pass and end in the same state."""
    if not subject.scenario.oracle:
        return skip(
            GATE,
            "no_oracle",
            "There is no reference path to replay: give the scenario an oracle, or let a search "
            "find one.",
        )
    trials = await Trials.of(subject, means).oracle()
    for trial in trials:
        if finding := find_fault(subject, trial):
            return finding
    one, other = (trial.seen[-1].state_hash for trial in trials)
    if one != other:
        return drop(
            GATE,
            "oracle_differs",
            "two replays from the same start end in different states",
            [one, other],
        )
    return keep(
        GATE,
        {
            "calls": len(subject.scenario.oracle),
            "end": one,
            "components": trials[0].verdict.components,
        },
    )


def find_fault(subject: ScenarioCase, trial: Trial) -> Finding | None:
    """The fault of one replay."""
    opened = trial.seen[0]
    if opened.outcome != "ok":
        return drop(
            GATE,
            "does_not_construct",
            f"the initial state is not taken ({opened.code}: {opened.message})",
            opened.message,
        )
    writes, declared = set(list_writes(subject)), read_declared(subject)
    told = describe_calls(subject, trial)
    for place, reply in enumerate(trial.replies):
        name = subject.scenario.oracle[place].name
        if reply.outcome == "failure":
            return drop(
                GATE,
                "oracle_fails_to_run",
                f"call {place + 1}, {name}: {describe_reply(reply)}",
                told,
            )
        if reply.outcome == "rejection" and (place in writes or place not in declared):
            reason = "oracle_rejected" if place in writes else "read_rejected"
            return drop(GATE, reason, f"call {place + 1}, {name}: {describe_reply(reply)}", told)
    verdict = trial.verdict
    if verdict.outcome == "error":
        return drop(
            GATE, "not_judged", verdict.reason, {"calls": told, "verdict": verdict.model_dump()}
        )
    if verdict.outcome != "pass":
        return drop(
            GATE, "oracle_fails", verdict.reason, {"calls": told, "verdict": verdict.model_dump()}
        )
    return None


def read_declared(subject: ScenarioCase) -> Sequence[int]:
    found: Json = subject.scenario.features.get(DECLARED, [])
    return found if is_array(found) else []


def describe_calls(subject: ScenarioCase, trial: Trial) -> list[Json]:
    """Each call with its result."""
    return [
        {"call": call.model_dump(), "outcome": describe_reply(reply)}
        for call, reply in zip(subject.scenario.oracle, trial.replies, strict=False)
    ]
