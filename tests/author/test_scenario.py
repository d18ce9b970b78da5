"""Requests say all that is needed, in people's words."""

import re
from collections import Counter
from datetime import date

import pytest

from envmill.author.compose import compose_domain
from schemas.seed import Brief
from tests.author.questions import ENVIRONMENTS, SEED, THEMES, ask_blueprint, ask_scenario

SCENARIOS = [(theme, number, scenario) for theme, number in ENVIRONMENTS for scenario in range(4)]

each_scenario = pytest.mark.parametrize(("theme", "number", "scenario"), SCENARIOS)


@each_scenario
def test_oracle_has_three_to_six_calls_and_two_changes(theme: str, number: int, scenario: int) -> None:
    reply = ask_scenario(theme, number, scenario)
    effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
    assert 3 <= len(reply.oracle) <= 6
    assert sum(effects[call.name] == "change" for call in reply.oracle) >= 2
    assert len({(call.name, str(call.arguments)) for call in reply.oracle}) == len(reply.oracle)


@each_scenario
def test_request_names_no_tool_and_no_id(theme: str, number: int, scenario: int) -> None:
    reply = ask_scenario(theme, number, scenario)
    ids = {row_id for rows in reply.initial_state.values() for row_id in rows}
    tools = {each.name for each in ask_blueprint(theme, number).tools}
    words = set(re.findall(r"[\w-]+", reply.request))
    assert not words & (ids | tools)
    assert not re.search(r"[{}]|\bNone\b|  |\.\.|\.,", reply.request)


@each_scenario
def test_every_plain_argument_of_a_change_is_said(theme: str, number: int, scenario: int) -> None:
    reply = ask_scenario(theme, number, scenario)
    operations = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED).operations
    for call in reply.oracle:
        operation = operations[call.name]
        for parameter in operation.takes if operation.effect == "change" else []:
            value = call.arguments[parameter.name]
            said = say_date(value) if parameter.day else str(value)
            assert parameter.row or re.search(rf"(?<!\w){re.escape(said)}(?!\w)", reply.request), value
            assert parameter.row or value in reply.facts.values()


def say_date(value: str) -> str:
    day = date.fromisoformat(value)
    return f"{day.day} {day:%B %Y}"


def test_scenarios_of_an_environment_differ() -> None:
    replies = [ask_scenario("tool_lending", 0, each) for each in range(12)]
    assert len({each.request for each in replies}) == 12
    assert len({str(each.initial_state) for each in replies}) == 12
    assert len({tuple(call.name for call in each.oracle) for each in replies}) >= 6


def test_requests_begin_in_many_ways() -> None:
    starts = Counter(ask_scenario(theme, number, scenario).request[:16] for theme, number, scenario in SCENARIOS)
    assert len(starts) >= 15
    assert starts.most_common(1)[0][1] <= len(SCENARIOS) // 6
