"""S4: mutants die: a verifier tells the reference path from its near misses."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark, skip
from envmill.gates.exploring.attempts import pick
from envmill.gates.exploring.equivalence import is_same_end
from envmill.gates.exploring.trials import Attempt, Trials, describe_reply, list_writes
from envmill.gates.mutating.near_misses import WRITES, breed
from envmill.kinds.trial import Trial
from envmill.verifiers.diff import diff_states
from schemas.base import Json, is_object
from schemas.database import Table
from schemas.ledger import ReasonClass
from schemas.scenario import Verifier

GATE = "S4"
CODES: Mapping[str, ReasonClass] = {
    "not_judged": "proof",
    "mutants_survive": "proof",
}
KILLED = 0.9

Fate = Literal["killed", "survived", "equivalent", "refused", "error"]


@dataclass(frozen=True)
class NearMiss:
    """A near miss and its fate."""

    attempt: Attempt
    trial: Trial
    fate: Fate


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Kill ratio over the mutants that lead somewhere else."""
    if not subject.scenario.oracle:
        return skip(GATE, "no_oracle", "There is no reference path to make near misses of.")
    mutants = sorted(
        await list_mutants(subject, means.weighed), key=lambda mutant: mutant.attempt.sealed
    )
    finding = judge_mutants(mutants)
    if len(writes := list_writes(subject)) > WRITES and is_object(finding.evidence):
        finding = replace(
            finding, evidence={**finding.evidence, "sampled": f"{WRITES} of {len(writes)} writes"}
        )
    told = judge_mutants([mutant for mutant in mutants if not mutant.attempt.sealed])
    return mark(finding, finding.outcome == "dropped" and told.outcome != "dropped")


def judge_mutants(mutants: Sequence[NearMiss]) -> Finding:
    """Kill ratio over these."""
    fates = Counter(mutant.fate for mutant in mutants)
    counted = fates["killed"] + fates["survived"]
    if broken := next((each for each in mutants if each.fate == "error"), None):
        return drop(
            GATE,
            "not_judged",
            f"{broken.attempt.label}: {broken.trial.verdict.reason}",
            show(broken),
        )
    if not counted:
        return skip(
            GATE,
            "no_mutants",
            "No near miss of the reference path could be made that leads anywhere else.",
            dict(fates),
        )
    ratio = fates["killed"] / counted
    survivors = [show(each) for each in mutants if each.fate == "survived"]
    evidence: Json = {"ratio": round(ratio, 4), "fates": dict(fates), "survivors": survivors[:10]}
    if ratio < KILLED:
        first = next(each for each in mutants if each.fate == "survived")
        return drop(
            GATE,
            "mutants_survive",
            f"{fates['survived']} of {counted} pass, one of them {first.attempt.label}",
            evidence,
        )
    return keep(GATE, evidence)


async def list_mutants(subject: ScenarioCase, means: GateContext) -> list[NearMiss]:
    """Every mutant that is run, played once for all gates."""
    trials = Trials.of(subject, means)
    # Of the scenario that was played first: an equal one may have its rows in another order, which
    # makes other mutants.
    attempts = pick(breed(trials.posed, means.seed), means)
    played = await trials.once(f"{means.probes} mutants", lambda: trials.play(attempts))
    right = (await trials.oracle())[0]
    tables = subject.environment.tables
    return [
        NearMiss(
            attempt, trial, find_fate(attempt, trial, right, tables, subject.scenario.verifier)
        )
        for attempt, trial in zip(attempts, played, strict=True)
    ]


def find_fate(
    attempt: Attempt,
    trial: Trial,
    right: Trial,
    tables: Sequence[Table] = (),
    verifier: Verifier | None = None,
) -> Fate:
    """The fate of a mutant. If its wrong step was refused, it is a step left out, which S3 checks.
    If its end differs only by chance, it is no mutant."""
    if trial.verdict.outcome == "error" or trial.ending is None or right.ending is None:
        return "error"
    if attempt.label != "wrong_words":
        if trial.replies[attempt.place].outcome != "ok":
            return "refused"
        one, other = trial.ending.final, right.ending.final
        # A killed mutant is not compared in full, because that costs more than playing it.
        if one == other or (
            trial.verdict.outcome == "pass"
            and is_same_end(trial.ending.initial, one, other, tables, verifier)
        ):
            return "equivalent"
    return "survived" if trial.verdict.outcome == "pass" else "killed"


def show(mutant: NearMiss) -> Json:
    """The changed step, and the difference that it made."""
    attempt, trial = mutant.attempt, mutant.trial
    call = (
        attempt.calls[attempt.place].model_dump()
        if 0 <= attempt.place < len(attempt.calls)
        else None
    )
    changes = diff_states(trial.ending.initial, trial.ending.final) if trial.ending else []
    replies = [describe_reply(reply) for reply in trial.replies if reply.outcome != "ok"]
    told = [change.model_dump() for change in changes[:10]]
    return {
        "mutant": attempt.label,
        "call": call,
        "refused": replies,
        "said": list(trial.ending.said) if trial.ending else [],
        "changes": told,
    }
