"""S7: a check that says neither yes nor no is no check. Such a check raises, hangs, changes its
input, prints, or returns a number."""

from collections.abc import AsyncIterator, Mapping

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark, pass_by, skip
from envmill.gates.exploring.trials import Trials
from envmill.gates.s4 import list_mutants
from envmill.gates.s5 import judge_tampered
from envmill.verifiers.ending import Ending
from schemas.base import Json, is_array, is_object
from schemas.ledger import ReasonClass
from schemas.rollout import Verdict

GATE = "S7"
CODES: Mapping[str, ReasonClass] = {
    "check_says_nothing": "proof",
}


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Runs the checks at the ends that other gates played. The finding names the first check that
    is silent at one of them."""
    verifier = subject.scenario.verifier
    generated = [one.name for one in (*verifier.guards, *verifier.goals) if one.op == "generated"]
    if not generated:
        return pass_by(
            GATE, "no_generated_check", "Every check is declarative, and our own code runs it."
        )
    heard = 0
    async for what, verdict, sealed in list_verdicts(subject, means):
        if verdict.outcome == "error":
            evidence: Json = {"end": what, "verdict": verdict.model_dump(), "checks": generated}
            return mark(
                drop(
                    GATE, "check_says_nothing", f"on the end of {what}: {verdict.reason}", evidence
                ),
                sealed,
            )
        heard += 1
    if not heard:
        return skip(GATE, "no_end", "The environment left no end that checks could be asked about.")
    return keep(GATE, {"checks": len(generated), "ends": heard})


async def list_verdicts(
    subject: ScenarioCase, means: GateContext
) -> AsyncIterator[tuple[str, Verdict, bool]]:
    """And whether a sealed probe led there. Cheapest ends first: a check that hangs takes its whole
    deadline each time. Ends the
    environment spoilt say nothing about checks."""
    trials = Trials.of(subject, means)
    nothing = await trials.nothing()
    if nothing.ending:
        yield "doing nothing", nothing.verdict, False
    if subject.scenario.oracle:
        right = (await trials.oracle())[0]
        if right.ending:
            yield "the reference path", right.verdict, False
    for verdict in [await trials.judge(bare) for bare in _strip(nothing.ending)]:
        yield "a state without rows", verdict, False
    if subject.scenario.oracle:
        for mutant in await list_mutants(subject, means):
            if mutant.trial.ending:
                yield (
                    f"a mutant ({mutant.attempt.label})",
                    mutant.trial.verdict,
                    mutant.attempt.sealed,
                )
        for tampering, verdict in await judge_tampered(subject, means):
            yield f"tampering ({tampering.what})", verdict, tampering.sealed
    for name, played in (await trials.attacks(means.probes)).items():
        for trial in played:
            if trial.ending:
                yield f"an attack ({name})", trial.verdict, trial.sealed


def _strip(ending: Ending | None) -> list[Ending]:
    """The same state with every collection empty: a check that takes a row for granted raises
    here."""
    if ending is None:
        return []
    bare: dict[str, Json] = {
        name: dict[str, Json]() if is_object(value) else list[Json]() if is_array(value) else value
        for name, value in ending.final.items()
    }
    return [Ending(ending.initial, bare, ending.deeds, ending.said)]
