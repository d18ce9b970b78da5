"""S11: no flakiness: the oracle and two attacks end the same and are judged the same in a process
with another hash seed."""

from collections.abc import Mapping, Sequence

import orjson

from envmill.agents.attackers import ATTACKERS
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, skip
from envmill.gates.exploring.trials import Attempt, Trials
from envmill.kinds.trial import Trial
from schemas.base import Json
from schemas.ledger import ReasonClass

GATE = "S11"
CODES: Mapping[str, ReasonClass] = {
    "verdict_differs": "proof",
    "end_differs": "proof",
    "reply_differs": "proof",
}

ATTACKS = ("random_valid", "read_everything")
"""One attack that writes and one that talks."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Plays everything again in a process in which sets and dictionaries hash otherwise. Generated
    checks run again, too."""
    trials = Trials.of(subject, means)
    base = await list_first(trials, means.weighed)
    if any(trial.ending is None for _, trial in base):
        return skip(
            GATE, "no_end", "The environment broke down before there was an end to compare."
        )
    again = await trials.play([attempt for attempt, _ in base], elsewhere=True)
    for (attempt, one), other in zip(base, again, strict=True):
        if fault := find_difference(one, other):
            evidence: Json = {
                "attempt": attempt.label,
                "verdicts": [each.verdict.model_dump() for each in (one, other)],
            }
            return drop(GATE, fault[0], f"{attempt.label}: {fault[1]}", evidence)
    return keep(GATE, {"attempts": [attempt.label for attempt, _ in base]})


async def list_first(trials: Trials, means: GateContext) -> Sequence[tuple[Attempt, Trial]]:
    """The attempts that were already played. The first attack of an attacker is an open probe."""
    attacks = await trials.attacks(means.probes)
    found = [
        (trials.plan_attack(name, trials.first_seed), attacks[name][0])
        for name in ATTACKS
        if name in ATTACKERS
    ]
    return (
        [(trials.path(), (await trials.oracle())[0]), *found] if trials.scenario.oracle else found
    )


def find_difference(one: Trial, other: Trial) -> tuple[str, str] | None:
    """(reason code, words) if two plays of one attempt differ."""
    if one.verdict.outcome != other.verdict.outcome or one.verdict.reward != other.verdict.reward:
        return "verdict_differs", f"judged {one.verdict.outcome}, then {other.verdict.outcome}"
    if orjson.dumps(one.seen[-1].state) != orjson.dumps(other.seen[-1].state):
        return "end_differs", "the same calls end in another state in another process"
    if [reply.parts for reply in one.replies] != [reply.parts for reply in other.replies]:
        return "reply_differs", "the same calls are answered otherwise in another process"
    return None
