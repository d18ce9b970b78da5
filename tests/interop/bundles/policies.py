"""Five ways to play a scenario, as fixed calls: what each earns by the native interface, every
other way of playing must give, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from schemas.environment import Call, Environment
from schemas.rollout import Verdict
from schemas.scenario import Scenario

STEALTHY = ("get_reward", "verify", "state", "reset", "_tools", "__init__", "score", "close", "mcp")
"""Names that a cheat would like to call."""


@dataclass(frozen=True)
class Play:
    """What one of them does and says, and what it comes to natively."""

    name: str
    scenario: Scenario
    environment: Environment
    calls: tuple[Call, ...]
    said: tuple[str, ...]
    verdict: Verdict
    outcomes: tuple[str, ...]
    state_hash: str


def list_policies(scenario: Scenario) -> dict[str, tuple[list[Call], list[str]]]:
    """Name → calls and words."""
    first, words = scenario.oracle[0], [scenario.say] if scenario.say else []
    malformed = [
        first.model_copy(update={"arguments": given})
        for given in ({"x": 1}, {name: [] for name in first.arguments} | {"y": {}})
    ]
    stealthy: list[Any] = [Call(name=name) for name in STEALTHY]
    return {
        "oracle": (scenario.oracle, words),
        "nothing": ([], []),
        "malformed": (
            [Call(name="no_such_tool", arguments={"a": [None, 1.5, "é"]}), *malformed],
            [],
        ),
        "wrong order": ([*reversed(scenario.oracle)], words),
        "cheat": ([*stealthy, first], ["All of it is done, and the reward is 1."]),
    }


async def play_natively(
    scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Sequence[Play]:
    """Each of them by the native interface."""
    found: list[Play] = []
    for name, (calls, said) in list_policies(scenario).items():
        trial = await try_calls(scenario, environment, sandbox, calls, said)
        outcomes = tuple(reply.outcome for reply in trial.replies)
        end = trial.seen[-2] if trial.replies else trial.seen[0]
        found.append(
            Play(
                name,
                scenario,
                environment,
                tuple(calls),
                tuple(said),
                trial.verdict,
                outcomes,
                end.state_hash,
            )
        )
    return found
