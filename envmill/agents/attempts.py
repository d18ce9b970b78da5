"""Groups of attempts: as many as it takes, in rounds of a fixed size, so that which are made never
depends on who answers first.

numbers ─► a round side by side ─► its rollouts, in order ─► enough? ─no─► the next round
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeAlias

from envmill.agents.base import Policy
from envmill.agents.limits import RolloutLimits
from envmill.agents.model import ModelPolicy
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.agents.users.doing import needs_user
from envmill.agents.users.manners import choose_manner
from envmill.base.errors import Outage
from envmill.models.session import ModelSession, name_judge
from envmill.sandbox import Sandbox
from envmill.verifiers.ruling import CalibratedJudge
from schemas.environment import Environment
from schemas.rollout import Form, Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario

Play: TypeAlias = Callable[[int], Awaitable[Rollout]]
"""The attempt of a number."""
Enough: TypeAlias = Callable[[Sequence[Rollout]], bool]
"""Whether the attempts so far will do; asked after each round."""

ROUND = 4


async def attempt(
    play: Play, enough: Enough, most: int, *, first: int = 0, side_by_side: int = ROUND
) -> AsyncGenerator[Rollout]:
    """Attempts `first`, `first + 1`, … until they are enough or `most` were made. Stops after a
    round that met an outage."""
    made: list[Rollout] = []
    while len(made) < most and not enough(made) and not _is_cut_off(made):
        start = first + len(made)
        ended = await asyncio.gather(
            *map(play, range(start, min(first + most, start + side_by_side))),
            return_exceptions=True,
        )
        # Only now: those beside a broken one have been paid for, and their replies are journalled.
        if broken := next((one for one in ended if isinstance(one, BaseException)), None):
            raise broken
        made += (new := [one for one in ended if isinstance(one, Rollout)])
        for rollout in new:
            yield rollout


def _is_cut_off(made: Sequence[Rollout]) -> bool:
    return any(one.termination == "outage" for one in made)


def require_reached(rollouts: Sequence[Rollout]) -> None:
    """Outage when a model could not be reached in one of them: the scenario is tried again, and
    pays for no reply twice."""
    lost = [one for one in rollouts if one.termination == "outage"]
    if lost:
        raise Outage(
            f"{len(lost)} of {len(rollouts)} attempts at {lost[0].scenario} by {lost[0].policy} "
            f"broke off: {lost[0].detail}"
        )


def make_player(
    policy: Policy | ModelPolicy,
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
    group: str,
    models: ModelSession | None,
    config: RunConfig,
    bench: CalibratedJudge | None = None,
) -> Play:
    """What makes attempts as a run wants them: in its form, with its user, within its limits,
    before its judge if it has one."""
    limits, ground = RolloutLimits.of(config), RolloutSetup.of(scenario, environment)
    if config.token_ids and isinstance(policy, ModelPolicy):
        policy = policy.keep_tokens()
    umpire = bool(config.judge) and models is not None and name_judge(models) != "offline"

    def play(number: int) -> Awaitable[Rollout]:
        form = choose_form(config, scenario, number)
        return play_on(
            ground,
            policy,
            sandbox,
            group,
            number,
            models=models,
            form=form,
            user=config.person,
            manner=choose_manner(scenario.split, _count_talks(config, scenario, number))
            if config.manners == "split"
            else "",
            limits=limits,
            bench=bench,
            umpire=umpire,
        )

    return play


def _count_talks(config: RunConfig, scenario: Scenario, number: int) -> int:
    """Conversations before this attempt: in a mixed run it is every other one."""
    return number if needs_user(scenario) or config.form != "mixed" else number // 2


def choose_form(config: RunConfig, scenario: Scenario, number: int) -> Form:
    """In a mixed run every other attempt is a conversation; where the user has nothing to tell
    later, none is. What the
    user has to do themselves is always one."""
    if needs_user(scenario):
        return "conversation"
    if config.form == "single" or not scenario.user.hidden:
        return "single"
    return "conversation" if config.form == "conversation" or number % 2 else "single"
