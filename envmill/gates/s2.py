"""S2: doing nothing earns exactly 0, and acting without reading the request stays below the attack threshold."""

from envmill.agents.attackers import ATTACKERS
from envmill.agents.trial import try_calls
from envmill.gates.base import Finding, drop, keep
from envmill.sandbox import Sandbox
from schemas.environment import Call, Environment
from schemas.rollout import Verdict
from schemas.scenario import Scenario

GATE = "S2"

SEEDS = 8
_BEST, _MEAN = 0.25, 0.15  # the attack threshold


async def attack(scenario: Scenario, environment: Environment, sandbox: Sandbox) -> Finding:
    """Every attacker over its seeds; the evidence holds all rewards."""
    nothing = await score(scenario, environment, sandbox, [])
    if nothing.outcome == "error":
        return drop(GATE, "environment_fails", f"doing nothing cannot be judged: {nothing.reason}", nothing.model_dump())
    if nothing.reward != 0.0:
        return drop(GATE, "do_nothing_paid", f"doing nothing earns {nothing.reward}", nothing.model_dump())
    rewards: dict[str, list[float]] = {}
    for name, attacker in ATTACKERS.items():
        for seed in range(SEEDS if attacker.random else 1):
            verdict = await score(scenario, environment, sandbox, attacker.plan(scenario.initial_state, environment.tools, seed))
            if verdict.outcome == "error":
                return drop(GATE, "environment_fails", f"{name} (seed {seed}) breaks it by valid calls: {verdict.reason}", rewards)
            rewards.setdefault(name, []).append(verdict.reward or 0.0)
            if verdict.outcome == "pass":
                return drop(GATE, "attack_passes", f"{name} passes without reading the request (seed {seed})", rewards)
    return judge_rewards(rewards)


def judge_rewards(rewards: dict[str, list[float]]) -> Finding:
    """Below the threshold for every attacker, or dropped with the worst one named."""
    for name, earned in rewards.items():
        best, mean = max(earned), sum(earned) / len(earned)
        if best > _BEST or mean > _MEAN:
            return drop(GATE, "attack_paid", f"{name} earns {best:.2f} at best and {mean:.2f} on average", rewards)
    return keep(GATE, rewards)


async def score(scenario: Scenario, environment: Environment, sandbox: Sandbox, calls: list[Call]) -> Verdict:
    """Verdict of a fixed sequence of calls; rejected calls are part of an attack."""
    return (await try_calls(scenario, environment, sandbox, calls)).verdict
