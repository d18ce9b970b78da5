"""A ladder of policies on kept scenarios: which end each attempt reached, and what it was paid.

scripts of several degrees, a careful model, a hasty model ─► attempts ─► pass probability by policy, recipe and path length
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from envmill.agents import find_policy
from envmill.agents.log import StoredCall, read_moves, read_words
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.kinds.findings import ScenarioCase
from envmill.models.session import ModelSession
from envmill.sandbox import Sandbox
from schemas.base import Contract, Json, digest
from schemas.rollout import Rollout
from tests.authors.items import Item

AT_ONCE = 6
"""Scenarios that are played side by side."""


class LadderAttempt(Contract):
    """One attempt of one policy."""

    scenario: str
    policy: str
    """Name on the ladder: `careful`, `hasty`, `skilled@0.9`."""
    attempt: int
    outcome: str
    termination: str
    steps: int
    end: str
    """Hash of the final state."""
    route: str
    """Digest of the calls."""
    words: str
    """Digest of what was said."""
    reason: str
    """What was not fulfilled."""


async def climb(
    cases: Mapping[str, ScenarioCase],
    policy: str,
    numbers: Sequence[int],
    sandbox: Sandbox,
    models: ModelSession | None,
) -> AsyncIterator[Rollout]:
    """Attempts of one policy at each scenario, as they end. A policy `model` is asked through
    `models`."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def play(case: ScenarioCase, number: int) -> Rollout:
        async with gate:
            ground = RolloutSetup.of(case.scenario, case.environment)
            return await play_on(
                ground, find_policy(policy), sandbox, "ladder", number, models=models
            )

    tasks = [
        asyncio.ensure_future(play(case, number)) for case in cases.values() for number in numbers
    ]
    for task in asyncio.as_completed(tasks):
        yield await task


def note(rollout: Rollout, policy: str) -> LadderAttempt:
    calls: Json = [
        [move.deed.call.name, move.deed.call.arguments]
        for move in read_moves(rollout.transcript)
        if isinstance(move, StoredCall)
    ]
    return LadderAttempt(
        scenario=rollout.scenario,
        policy=policy,
        attempt=rollout.attempt,
        outcome=rollout.outcome,
        termination=rollout.termination,
        steps=rollout.steps,
        end=rollout.final_state_hash,
        route=digest(calls),
        words=digest(list(read_words(rollout.transcript))),
        reason=(rollout.reason or "")[:300],
    )


def rate(attempts: Sequence[LadderAttempt]) -> dict[tuple[str, str], tuple[int, int]]:
    """Scenario and policy → passed, played. An error is no attempt."""
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in attempts:
        if one.outcome != "error":
            found[one.scenario, one.policy].append(one.outcome == "pass")
    return {key: (sum(passed), len(passed)) for key, passed in found.items()}


@dataclass(frozen=True)
class RatedPair:
    """A scenario and the harder one beside it, as one policy passes them."""

    harder: Item
    policy: str
    easy_rate: float
    harder_rate: float


def pair_rates(items: Sequence[Item], attempts: Sequence[LadderAttempt]) -> Iterator[RatedPair]:
    """Every policy that attempted both scenarios of a pair."""
    rates = {key: passed / played for key, (passed, played) in rate(attempts).items()}
    policies = sorted({policy for _, policy in rates})
    for one in items:
        for policy in policies if one.parent else ():
            easy, harder = rates.get((one.parent, policy)), rates.get((one.id, policy))
            if easy is not None and harder is not None:
                yield RatedPair(one, policy, easy, harder)


def list_between(
    rates: Mapping[tuple[str, str], tuple[int, int]], low: float = 0.1, high: float = 0.9
) -> set[str]:
    """Scenarios that some policy passes neither always nor never."""
    return {
        scenario
        for (scenario, _), (passed, played) in rates.items()
        if low <= passed / played <= high
    }


def tabulate_ladder(
    items: Sequence[Item], attempts: Sequence[LadderAttempt], key: Callable[[Item], str]
) -> Iterator[tuple[str, str, int, int, float, list[int]]]:
    """(group, policy, scenarios, attempts, mean pass rate, histogram over fifths of the pass
    rate)."""
    rates, group = rate(attempts), {one.id: key(one) for one in items if one.lap == "scenarios"}
    policies = sorted({policy for _, policy in rates})
    for name in sorted({group[scenario] for scenario, _ in rates if scenario in group}):
        for policy in policies:
            own = [
                told
                for (scenario, played), told in rates.items()
                if played == policy and group.get(scenario) == name
            ]
            if own:
                shares = [passed / played for passed, played in own]
                histogram = [
                    sum(min(int(share * 5), 4) == place for share in shares) for place in range(5)
                ]
                yield (
                    name,
                    policy,
                    len(own),
                    sum(played for _, played in own),
                    mean(shares),
                    histogram,
                )
