"""S13: a search that sees only its reward finds no way to be paid without doing what the request
asks."""

from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, skip
from envmill.gates.exploring.search_attack import PaidSequence, SearchResult, SearchTally
from envmill.gates.s2 import BEST
from envmill.verifiers.diff import diff_states
from schemas.base import Json, digest
from schemas.ledger import ReasonClass

GATE = "S13"
CODES: Mapping[str, ReasonClass] = {
    "exploit": "proof",
    "environment_fails": "proof",
    "guessed": "proof",
    "blind_paid": "proof",
    "blind_pass": "proof",
}

LUCK = 0.02
"""Share of sequences drawn blindly that may hit upon the right end."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Replays sequences that were paid on siblings, then searches without the request, then with
    its words."""
    if means.episodes < 2:
        return skip(
            GATE,
            "no_search",
            "No sequences may be tried: give the run's setting `search` a number.",
        )
    hunt = SearchResult(subject, means)
    replayed = await hunt.replay(subject.library)
    if finding := judge_catches(replayed):
        return finding
    blind = await hunt.search("blind", hunt.episodes)
    evidence: Json = {
        "blind": describe_tally(blind),
        "attacks": [show(catch) for catch in _choose(blind.catches)],
    }
    if finding := judge_catches(blind.catches, evidence) or judge_blind(
        blind, partial=subject.scenario.verifier.partial, evidence=evidence
    ):
        return finding
    informed = await hunt.search("informed", hunt.episodes)
    evidence |= {
        "informed": describe_tally(informed),
        "attacks": [*evidence["attacks"], *(show(one) for one in _choose(informed.catches))],
    }
    return judge_catches(informed.catches, evidence) or keep(GATE, evidence)


async def replay_library(subject: ScenarioCase, means: GateContext) -> Finding:
    """The library alone, once all siblings have been searched."""
    replayed = await SearchResult(subject, means).replay(subject.library)
    paid: Json = [show(catch) for catch in replayed if catch.trial.verdict.reward]
    return judge_catches(replayed) or keep(
        GATE, {"replayed": len(subject.library), "attacks": paid}
    )


def judge_catches(catches: Sequence[PaidSequence], evidence: Json = None) -> Finding | None:
    """Drops a scenario if a sequence passes but ends elsewhere than the reference path."""
    for catch in catches:
        if catch.exploit:
            made = ", ".join(call.name for call in catch.calls) or "nothing but words"
            detail = f"{catch.manner}: {made} passes and ends elsewhere than the reference path"
            return drop(
                GATE, "exploit", detail[:2000], {**(evidence or {}), "attacks": [show(catch)]}
            )
    return None


def judge_blind(tally: SearchTally, *, partial: bool, evidence: Json) -> Finding | None:
    """A search that has not read the request must not be paid, except by luck."""
    if tally.broken == tally.episodes > 0:
        return drop(
            GATE,
            "environment_fails",
            f"none of {tally.episodes} sequences of valid calls could be judged",
            evidence,
        )
    if tally.lucky > LUCK * max(tally.drawn, 1):
        return drop(
            GATE,
            "guessed",
            f"{tally.lucky} of {tally.drawn} sequences drawn without reading the request pass",
            evidence,
        )
    if partial and tally.best > BEST:
        return drop(
            GATE,
            "blind_paid",
            f"a search that does not read the request earns {tally.best:.2f}",
            evidence,
        )
    if unknown := next(
        (one for one in tally.catches if one.right is None and one.trial.verdict.outcome == "pass"),
        None,
    ):
        made = ", ".join(call.name for call in unknown.calls)
        return drop(
            GATE,
            "blind_pass",
            f"{made} passes without reading the request, and no reference path says it is right",
            evidence,
        )
    return None


def describe_tally(tally: SearchTally) -> Json:
    """A search in numbers."""
    return {
        "episodes": tally.episodes,
        "passes": tally.passes,
        "best": round(tally.best, 4),
        "mean": round(tally.paid / max(tally.episodes, 1), 4),
        "drawn": tally.drawn,
        "lucky": tally.lucky,
        "broken": tally.broken,
    }


def show(catch: PaidSequence) -> Json:
    """A paid sequence as it can be played again, and where it ends."""
    ending = catch.trial.ending
    changes = diff_states(ending.initial, ending.final) if ending else []
    return {
        "manner": catch.manner,
        "calls": [call.model_dump() for call in catch.calls],
        "said": [text[:2000] for text in catch.said],
        "reward": catch.trial.verdict.reward or 0.0,
        "solves": catch.right,
        "changes": [change.model_dump() for change in changes[:20]],
        "final_state_hash": digest(ending.final) if ending else "",
    }


def _choose(catches: Sequence[PaidSequence]) -> Iterator[PaidSequence]:
    """Those worth keeping, the best paid first."""
    yield from sorted(
        catches, key=lambda one: (-(one.trial.verdict.reward or 0.0), len(one.calls))
    )[:3]
