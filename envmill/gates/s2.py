"""S2: doing nothing earns exactly 0, and acting without reading the request stays below the attack
threshold."""

from collections.abc import Mapping, Sequence

from envmill.agents.attackers import ATTACKERS
from envmill.agents.attackers.base import Mute
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark
from envmill.gates.exploring.trials import Trials
from envmill.kinds.trial import Trial
from schemas.base import Json
from schemas.ledger import ReasonClass
from schemas.rollout import Verdict
from schemas.scenario import Verifier

GATE = "S2"
CODES: Mapping[str, ReasonClass] = {
    "environment_fails": "proof",
    "do_nothing_paid": "proof",
    "attack_passes": "proof",
    "attack_paid": "proof",
}

BEST, MEAN = 0.25, 0.15
"""The attack threshold."""
_MORE_CHANGES = (
    "Let the request ask for more than one change, give the state more rows on which such a "
    "change is possible, or let the person ask for "
    "something that has to be looked up and told."
)
_MORE_WORDS = (
    "Let the person ask for something that has to be worked out, and give in `rivals` the wrong "
    "values that a recital would say beside it."
)


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Every attacker over its seeds; the evidence holds all rewards."""
    trials = Trials.of(subject, means)
    nothing = (await trials.nothing()).verdict
    if finding := judge_nothing(nothing, subject.scenario.verifier):
        return finding
    attacks = await trials.attacks(means.weighed.probes)
    played = [(name, trial) for name, made in attacks.items() for trial in made]
    for name, trial in sorted(played, key=lambda one: one[1].sealed):
        if finding := judge_attack(name, trial):
            return mark(finding, trial.sealed)
    finding = judge_rewards(
        {name: [trial.verdict.reward or 0.0 for trial in made] for name, made in attacks.items()}
    )
    told = {
        name: [trial.verdict.reward or 0.0 for trial in made if not trial.sealed]
        for name, made in attacks.items()
    }
    return mark(finding, finding.outcome == "dropped" and judge_rewards(told).outcome != "dropped")


def judge_nothing(verdict: Verdict, verifier: Verifier) -> Finding | None:
    """Exactly 0, and for a reason; where something is paid, the checks that pay are named."""
    if verdict.outcome == "error":
        return drop(
            GATE,
            "environment_fails",
            f"doing nothing cannot be judged: {verdict.reason}",
            verdict.model_dump(),
        )
    if verdict.outcome == "pass" or verdict.reward != 0.0:
        paid = list_paid(verdict, verifier)
        detail = (
            f"doing nothing earns {verdict.reward:.3g}; true at the start: "
            f"{'; '.join(paid) or 'all that is asked'}"
        )
        return drop(GATE, "do_nothing_paid", detail[:2000], verdict.model_dump() | {"paid": paid})
    return None


def list_paid(verdict: Verdict, verifier: Verifier) -> list[str]:
    """Goals and facts that nothing in the verdict's evidence says are missed."""
    missed = {
        entry["name"] for entry in verdict.evidence if entry["component"] in ("goals", "facts")
    }
    return [one.name for one in (*verifier.goals, *verifier.facts) if one.name not in missed]


def judge_attack(name: str, trial: Trial) -> Finding | None:
    """No attack passes, and none breaks the environment."""
    verdict = trial.verdict
    if verdict.outcome == "error":
        return drop(
            GATE,
            "environment_fails",
            f"{name} breaks it by valid calls: {verdict.reason}",
            show(name, trial),
        )
    if verdict.outcome == "pass":
        return drop(
            GATE,
            "attack_passes",
            f"{name} passes without doing what is asked{_explain(name)}",
            show(name, trial),
        )
    return None


def _explain(name: str) -> str:
    """The attacker's behaviour and the remedy, for the author. Without them, the author would see
    the attacker's name only."""
    attacker = ATTACKERS.get(name)
    if attacker is None:
        return ""
    mends = _MORE_CHANGES if isinstance(attacker, Mute) else _MORE_WORDS
    return f". It is an attacker that {attacker.does}. {mends}"


def judge_rewards(rewards: Mapping[str, Sequence[float]]) -> Finding:
    """Keeps the scenario if every attacker earns less than the threshold; otherwise drops it and
    names the worst attacker."""
    for name, earned in rewards.items():
        best, mean = max(earned), sum(earned) / len(earned)
        if best > BEST or mean > MEAN:
            return drop(
                GATE,
                "attack_paid",
                f"{name} earns {best:.2f} at best and {mean:.2f} on average",
                dict(rewards),
            )
    return keep(GATE, {name: list(earned) for name, earned in rewards.items()})


def show(name: str, trial: Trial) -> Json:
    """An attack as it can be played again, without the replies."""
    made: list[Json] = (
        [deed.call.model_dump() for deed in trial.ending.deeds if deed.outcome == "ok"]
        if trial.ending
        else []
    )
    said = [text[:2000] for text in trial.ending.said] if trial.ending else []
    return {
        "attacker": name,
        "calls": made[:60],
        "said": said,
        "verdict": trial.verdict.model_dump(),
    }
