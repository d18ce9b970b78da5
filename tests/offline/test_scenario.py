"""Requests say all that is needed, in people's words."""

import re
import sys
from collections import Counter
from datetime import date
from statistics import mean, median

import pytest

from offline.compose import compose_domain
from offline.domain import TODAY, Domain
from offline.population import populate
from offline.scenario import FEWEST_CALLS, LADDER, write_scenario
from offline.user import list_vague
from offline.wording import WantedChange, render_value
from offline.world import DomainWorld
from schemas.environment import Call
from schemas.seed import Brief
from tests.offline.questions import ENVIRONMENTS, SEED, THEMES, ask_blueprint, ask_scenario, compose
from tests.soak import count

SCENARIOS = [(theme, number, scenario) for theme, number in ENVIRONMENTS for scenario in range(4)]

each_scenario = pytest.mark.parametrize(("theme", "number", "scenario"), SCENARIOS)


@each_scenario
def test_a_path_changes_two_things_at_least_and_repeats_nothing(
    theme: str, number: int, scenario: int
) -> None:
    reply = ask_scenario(theme, number, scenario)
    assert 2 <= len(list_changes(theme, number, scenario)) <= max(LADDER)
    assert len(reply.oracle) >= FEWEST_CALLS
    assert len({(call.name, str(call.arguments)) for call in reply.oracle}) == len(reply.oracle)


def list_changes(theme: str, number: int, scenario: int) -> list[str]:
    effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
    return [
        call.name
        for call in ask_scenario(theme, number, scenario).oracle
        if effects[call.name] == "change"
    ]


def test_number_of_a_scenario_says_how_hard_it_is() -> None:
    """Two and three wishes against six and eight: whatever environments the commit draws, they lie
    far apart."""
    easy, hard = (
        mean(
            len(list_changes(theme, number, scenario))
            for theme, number in ENVIRONMENTS
            for scenario in asked
        )
        for asked in ((0, 2), (5, 7))
    )
    assert hard >= easy + 1


@pytest.mark.soak(area="author")
def test_paths_are_long_and_some_are_very_long() -> None:
    themes = sorted(THEMES)
    lengths = [
        len(ask_scenario(themes[each % len(themes)], each // len(themes), each % 8).oracle)
        for each in range(count(60, 1000))
    ]
    sys.stdout.write(
        f"{len(lengths)} paths: median {median(lengths)}, longest {max(lengths)}, 15 or more "
        f"{sum(e >= 15 for e in lengths)}\n"
    )
    assert median(lengths) >= 5
    assert max(lengths) >= 15


def test_later_wishes_go_on_from_earlier_ones() -> None:
    """Some change of many a path is refused at the start: an earlier one has to make way for it."""
    chained = [
        theme for place, theme in enumerate(sorted(THEMES)) if _is_chained(theme, 0, place % 8)
    ]
    assert len(chained) >= len(THEMES) // 6


def _is_chained(theme: str, number: int, scenario: int) -> bool:
    domain = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED)
    reply = ask_scenario(theme, number, scenario)
    start = DomainWorld(domain, reply.initial_state, TODAY, "start")
    changes = [
        (domain.operations[call.name], call.arguments)
        for call in reply.oracle
        if domain.operations[call.name].effect == "change"
    ]
    return not all(start.allows(operation, arguments) for operation, arguments in changes)


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
    operations = compose_domain(
        Brief(theme=theme, text=THEMES[theme], number=number), SEED
    ).operations
    for call in reply.oracle:
        operation = operations[call.name]
        for parameter in operation.takes if operation.effect == "change" else []:
            value = call.arguments[parameter.name]
            said = say_date(value) if parameter.day else render_value(value)
            assert parameter.row or re.search(rf"(?<!\w){re.escape(said)}(?!\w)", reply.request), (
                value
            )
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
    starts = Counter(
        ask_scenario(theme, number, scenario).request[:16] for theme, number, scenario in SCENARIOS
    )
    assert len(starts) >= 15
    assert starts.most_common(1)[0][1] <= len(SCENARIOS) // 6


@pytest.mark.parametrize(
    ("theme", "key"),
    [("call_centre_tickets", 13), ("call_centre_tickets", 15), ("parcel_lockers", 6)],
)
def test_nothing_is_asked_for_that_a_later_wish_writes_over(theme: str, key: int) -> None:
    """Nobody passes one ticket on to two people in one breath."""
    domain = compose(theme, 0)
    reply = write_scenario(domain, f"x{key}", key)
    changes = [call for call in reply.oracle if domain.operations[call.name].effect == "change"]
    placed = [
        (call.name, next(iter(call.arguments.values())))
        for call in changes
        if len(list_rows(domain, call)) > 1
    ]
    assert len(placed) == len({*placed})


def test_a_name_behind_a_number_is_said_at_once() -> None:
    """`Put 13 a part into the store` is no way to leave something open."""
    domain = compose("fleet_maintenance", 3)
    state = populate(domain, "vague").state
    wish = WantedChange(
        domain.operations["restock_part"], {"part_id": next(iter(state["parts"])), "pieces": 13}
    )
    assert list_vague([wish], domain, state, []) == []


def list_rows(domain: Domain, call: Call) -> list[str]:
    """Parameters of a call that name rows."""
    return [each.name for each in domain.operations[call.name].takes if each.row]
