"""Programs do what the domain model says: its rules, its outcomes, its end states."""

import re
from datetime import date

import pytest

from offline.compose import compose_domain
from offline.dice import make_dice
from offline.draw import sample_arguments
from offline.tests import try_operations
from offline.witness import erase_new_ids
from offline.world import DomainWorld
from schemas.base import canonical_json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.seed import Brief
from tests.offline.questions import (
    ENVIRONMENTS,
    SEED,
    THEMES,
    Play,
    ask_blueprint,
    ask_program,
    ask_scenario,
    ask_tests,
    read_tools,
    run,
)

FORBIDDEN = {
    "reset",
    "step",
    "state",
    "close",
    "get_reward",
    "verify",
    "seed_session",
    "aggregate_metrics",
    "mcp",
}
CALLS = 200

each_environment = pytest.mark.parametrize(("theme", "number"), ENVIRONMENTS)


def compose(theme: str, number: int):
    return compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED)


@pytest.mark.long(cases=1)
@each_environment
def test_every_stored_test_ends_as_expected_and_for_the_reason_meant(
    theme: str, number: int
) -> None:
    reply = ask_tests(theme, number)
    trials = try_operations(compose(theme, number), SEED)[1]
    seen = run(
        theme, number, [(reply.initial_state, [*test.setup, test.call]) for test in reply.tests]
    )
    for test, trial, play in zip(reply.tests, trials, seen, strict=True):
        assert play.outcomes == [""] * len(test.setup) + [trial.code], test.name
        assert (test.expect == "rejection") == bool(trial.code)


@each_environment
def test_tests_cover_every_tool(theme: str, number: int) -> None:
    reply = ask_tests(theme, number)
    for name, operation in compose(theme, number).operations.items():
        expected = [test.expect for test in reply.tests if test.call.name == name]
        assert len(expected) >= 3, name
        assert "success" in expected, name
        assert ("rejection" in expected) == bool(operation.takes), name


@each_environment
def test_program_and_domain_model_agree_on_random_calls(theme: str, number: int) -> None:
    domain = compose(theme, number)
    start = ask_tests(theme, number).initial_state
    world, dice = (
        DomainWorld(domain, ask_tests(theme, number).initial_state, date(2026, 3, 2), "play"),
        make_dice("play", theme, number),
    )
    calls, expected = list[Call](), list[str]()
    for _ in range(CALLS):
        operation = dice.choice(list(domain.operations.values()))
        arguments = sample_arguments(operation, world, start, dice, wild=0.08)
        codes = world.find_violations(operation, arguments)
        if not codes:
            world.apply(operation, arguments)
        calls.append(Call(name=operation.name, arguments=arguments))
        expected.append(codes[0] if codes else "")
    play = run(theme, number, [(start, calls)])[0]
    assert play.outcomes == expected
    assert erase_new_ids(play.state, start) == erase_new_ids(world.state, start)


@each_environment
def test_oracles_run_and_change_the_state_and_doing_nothing_does_not(
    theme: str, number: int
) -> None:
    replies = [ask_scenario(theme, number, each) for each in range(4)]
    plays = [(each.initial_state, each.oracle) for each in replies] + [
        (each.initial_state, []) for each in replies
    ]
    seen = run(theme, number, plays)
    for reply, play, idle in zip(replies, seen[:4], seen[4:], strict=True):
        assert play.outcomes == [""] * len(reply.oracle)
        assert_every_id_was_looked_up(reply, play)
        assert play.state != reply.initial_state
        assert idle.state == reply.initial_state


def assert_every_id_was_looked_up(reply: ScenarioReply, play: Play) -> None:
    ids = {row_id for rows in reply.initial_state.values() for row_id in rows}
    for number, call in enumerate(reply.oracle):
        used = ids & {value for value in call.arguments.values() if isinstance(value, str)}
        assert all(row_id in canonical_json(play.results[:number]) for row_id in used), call


@each_environment
def test_program_keeps_the_runtime_contract(theme: str, number: int) -> None:
    program, blueprint = ask_program(theme, number), ask_blueprint(theme, number)
    tools = [each.name for each in read_tools(theme, number, program)]
    assert tools == [each.name for each in blueprint.tools]
    assert not FORBIDDEN & set(tools)
    assert not [name for name in tools if name.startswith("_") or "__" in name]
    imports = set(re.findall(r"^(?:from|import) (\S+)", program.source, re.MULTILINE))
    assert imports <= {"envmill.runtime", "typing", "datetime", "copy"}


@each_environment
def test_initial_states_have_rows_enough_and_references_that_resolve(
    theme: str, number: int
) -> None:
    domain = compose(theme, number)
    for state in (
        ask_tests(theme, number).initial_state,
        ask_scenario(theme, number, 0).initial_state,
    ):
        assert set(state) == set(domain.collections)
        for name, collection in domain.collections.items():
            assert len(state[name]) >= 4
            for row_id, row in state[name].items():
                assert row["id"] == row_id
                assert set(row) == {"id", *collection.attributes}
                for attribute, source in collection.attributes.items():
                    assert (
                        not source.ref
                        or row[attribute] == ""
                        or row[attribute] in state[source.ref]
                    )
