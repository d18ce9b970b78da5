"""Scenarios are won by doing what is asked: not by luck, not by less, and not by a part of it."""

import sys
from collections.abc import Callable, Coroutine

import pytest

from envmill.sandbox import Sandbox
from tests.offline.courts import Court, make_program, open_court
from tests.offline.jail import JAIL
from tests.offline.luck import Table
from tests.offline.questions import ENVIRONMENTS, THEMES, ask_blueprint, ask_scenario, compose
from tests.soak import count

TRIES = count(25, 1000)
JAILED = count(6, 60)
"""Random attempts of a scenario that are played in the jail as well."""
SCENARIOS = [
    (theme, number, scenario)
    for number, (theme, _) in enumerate(ENVIRONMENTS)
    for scenario in range(number % 4, 8, 4)
]
MANY = [
    (theme, number, scenario)
    for number in range(5)
    for scenario, theme in enumerate(sorted(THEMES), number)
]
Trial = Callable[[Court, str, int], Coroutine[None, None, list[float]]]


def hear(scenarios: list[tuple[str, int, int]], trial: Trial) -> list[list[float]]:
    """The rewards of one trial in every scenario."""

    async def go(sandbox: Sandbox) -> list[list[float]]:
        courts = [
            (await open_court(sandbox, make_program(t, n), ask_scenario(t, n, s)), t, n)
            for t, n, s in scenarios
        ]
        return [await trial(*each) for each in courts]

    return JAIL.enter(go)


async def try_oracle_and_less(court: Court, theme: str, number: int) -> list[float]:
    """Rewards of the whole path, of nothing, and of the path without each of its changes."""
    effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
    path = court.reply.oracle
    less = [
        path[:place] + path[place + 1 :]
        for place, call in enumerate(path)
        if effects[call.name] == "change"
    ]
    return [(await court.try_calls(calls)).reward or 0.0 for calls in (path, [], *less)]


def set_table(theme: str, number: int, scenario: int) -> Table:
    return Table(
        compose(theme, number),
        ask_scenario(theme, number, scenario),
        list(make_program(theme, number).tools),
    )


async def hear_both(court: Court, theme: str, number: int) -> list[float]:
    """Rewards of random calls, of the path, of the path after them, and of the path without its
    end; and of all, what the model says."""
    table = Table(compose(theme, number), court.reply, list(court.program.tools))
    path = court.reply.oracle
    tried = [
        *(table.plan(seed) for seed in range(JAILED)),
        path,
        [],
        path[:-1],
        *([*table.plan(seed), *path] for seed in range(4)),
    ]
    return [
        each
        for calls in tried
        for each in ((await court.try_calls(calls)).reward or 0.0, float(table.wins(calls)))
    ]


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_the_whole_path_wins_and_nothing_and_every_change_less_lose() -> None:
    for scenario, (whole, *less) in zip(
        SCENARIOS, hear(SCENARIOS, try_oracle_and_less), strict=True
    ):
        assert whole == 1.0, scenario
        assert less == [0.0] * len(less), scenario
        assert len(less) >= 3, scenario


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_the_domain_model_hands_down_the_verdicts_of_the_jail() -> None:
    for scenario, heard in zip(SCENARIOS, hear(SCENARIOS, hear_both), strict=True):
        jailed, foretold = heard[::2], heard[1::2]
        assert [reward > 0 for reward in jailed] == [won > 0 for won in foretold], scenario
        assert foretold[JAILED] == 1.0, scenario


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_random_valid_calls_win_at_most_one_scenario_in_a_hundred() -> None:
    """By the domain model, which is of one mind with the jail."""
    scenarios = MANY[: count(41, len(MANY))]
    won = [each for each in scenarios if set_table(*each).count_wins(TRIES)]
    sys.stdout.write(
        f"random valid calls win {len(won)} of {len(scenarios)} scenarios in {TRIES} tries each: "
        f"{won}\n"
    )
    assert len(won) <= 0.01 * len(scenarios)
