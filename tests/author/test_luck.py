"""Scenarios are won by doing what is asked: not by luck, not by less, and not by a part of it."""

import asyncio
import sys
from collections.abc import Callable, Coroutine

import pytest

from envmill.agents.attackers.base import View
from envmill.agents.attackers.random_valid import RandomValid
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from tests.author.courts import Court, make_program, open_court
from tests.author.questions import ENVIRONMENTS, THEMES, ask_blueprint, ask_scenario
from tests.soak import count

TRIES = count(25, 1000)
SCENARIOS = [(theme, number, scenario) for number, (theme, _) in enumerate(ENVIRONMENTS) for scenario in range(number % 4, 8, 4)]
MANY = [(theme, number, scenario) for number in range(5) for scenario, theme in enumerate(sorted(THEMES), number)]
Trial = Callable[[Court, str, int], Coroutine[None, None, list[float]]]


def hear(scenarios: list[tuple[str, int, int]], trial: Trial) -> list[list[float]]:
    """The rewards of one trial in every scenario."""

    async def go() -> list[list[float]]:
        async with Sandbox.open(Settings.read({})) as sandbox:
            courts = [(await open_court(sandbox, make_program(t, n), ask_scenario(t, n, s)), t, n) for t, n, s in scenarios]
            return [await trial(*each) for each in courts]

    return asyncio.run(go())


async def try_oracle_and_less(court: Court, theme: str, number: int) -> list[float]:
    """Rewards of the whole path, of nothing, and of the path without each of its changes."""
    effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
    path = court.reply.oracle
    less = [path[:place] + path[place + 1 :] for place, call in enumerate(path) if effects[call.name] == "change"]
    return [(await court.try_calls(calls)).reward or 0.0 for calls in (path, [], *less)]


async def try_luck(court: Court, _theme: str, _number: int) -> list[float]:
    """The best reward that random calls found."""
    luck, best = RandomValid(), 0.0
    view = View(court.reply.initial_state, court.program.tools, court.reply.request)
    for seed in range(TRIES):
        calls = luck.plan(view, seed)
        best = max(best, (await court.try_calls(calls)).reward or 0.0)
    return [best]


def test_the_whole_path_wins_and_nothing_and_every_change_less_lose() -> None:
    for scenario, (whole, *less) in zip(SCENARIOS, hear(SCENARIOS, try_oracle_and_less), strict=True):
        assert whole == 1.0, scenario
        assert less == [0.0] * len(less), scenario
        assert len(less) >= 3, scenario


@pytest.mark.soak(area="author")
def test_random_valid_calls_win_at_most_one_scenario_in_a_hundred() -> None:
    scenarios = MANY[: count(12, len(MANY))]
    won = [scenario for scenario, [best] in zip(scenarios, hear(scenarios, try_luck), strict=True) if best > 0]
    sys.stdout.write(f"random valid calls win {len(won)} of {len(scenarios)} scenarios in {TRIES} tries each: {won}\n")
    assert len(won) <= 0.01 * len(scenarios)
