"""The samples of kind `sql` pass every gate, replay, come back from snapshots, and are judged alike where nothing is installed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.table_touches import find_untrue
from envmill.gates.reading.column_policies import list_chance
from envmill.interop.bundles import Folder, read_folder
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds.replay import record, replay
from envmill.kinds.sql import derive_tables, list_policies
from envmill.kinds.start import start
from envmill.sandbox import (
    Changes,
    Invoke,
    Look,
    Program,
    Reset,
    Restore,
    Sandbox,
    Snapshot,
    Touched,
)
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call, Environment
from schemas.scenario import Fact, Scenario
from tests.interop.bundles.openers import ask_bare
from tests.samples.sql import NAMES, derive, load, play_oracle

PROVISIONAL = {"W4": "no_reviewer"}
NOT_FOR_ALL = {"S7": "no_generated_check", "S15": "no_referent", "S17": "nothing_hidden"}
EPISODES = 60
"""Of the search attacker: enough to try each tool."""


def make_built(folder: Folder, **changes: Any) -> EnvironmentCase:
    return EnvironmentCase(
        folder.environment.model_copy(update=changes),
        folder.tests,
        tuple(one.initial_state for one in folder.scenarios),
    )


@pytest.mark.parametrize("name", NAMES)
def test_they_are_large_enough_and_ruled(name: str) -> None:
    environment = load(name).environment
    assert len(environment.tools) >= 15
    assert len(environment.tables) >= 6
    assert (
        len(
            [
                column
                for table in environment.tables
                for column in table.columns
                if column.references
            ]
        )
        >= 4
    )
    assert {column.policy for table in environment.tables for column in table.columns} == {
        "hard",
        "exempt",
        "semantic",
        "tolerance",
    }
    assert len(load(name).scenarios) >= 4


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
async def test_every_gate_of_environments_keeps_them(jail: Sandbox, name: str) -> None:
    found = [
        await gate.check(make_built(load(name)), GateContext(jail)) for gate in ENVIRONMENT_GATES
    ]
    assert {one.gate: one.reason for one in found if one.outcome != "kept"} == PROVISIONAL


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
async def test_every_gate_of_scenarios_keeps_them_or_says_why_it_has_nothing_to_look_at(
    jail: Sandbox, name: str
) -> None:
    folder = load(name)
    for scenario in folder.scenarios:
        posed = ScenarioCase(
            scenario,
            folder.environment,
            tuple(one for one in folder.scenarios if one is not scenario),
        )
        found = [
            await gate.check(posed, GateContext(jail, episodes=EPISODES)) for gate in SCENARIO_GATES
        ]
        aside = {one.gate: one.reason for one in found if one.outcome == "not_applicable"}
        others = [one for one in found if one.outcome not in ("kept", "not_applicable")]
        assert [(one.gate, one.reason) for one in others] == [("S16", "no_reader")], (
            scenario.request
        )
        assert aside.items() <= NOT_FOR_ALL.items()


@pytest.mark.parametrize("name", NAMES)
async def test_verifiers_are_what_the_reference_path_makes_of_them(
    jail: Sandbox, name: str
) -> None:
    """When this fails on purpose: `python -m tests.samples.sql`."""
    for scenario in load(name).scenarios:
        assert scenario.verifier == await derive(jail, load(name), scenario)
        ending = await play_oracle(jail, load(name), scenario)
        assert judge(scenario.verifier, ending).outcome == "pass"
        assert (
            judge(scenario.verifier, Ending(scenario.initial_state, scenario.initial_state)).reward
            == 0.0
        )


@pytest.mark.long
async def test_a_tool_that_touches_something_else_than_it_says_is_seen(jail: Sandbox) -> None:
    """A trigger's write and a read that are not said, and a write that is said and never comes."""
    lies: dict[str, dict[str, list[str]]] = {
        "check_out": {"writes": ["bookings", "rooms"]},
        "get_bill": {"reads": ["bookings", "charges", "rooms", "room_types"]},
        "add_charge": {"writes": ["charges", "guests"]},
    }
    tools = [
        tool.model_copy(update=lies.get(tool.name, {})) for tool in load("hotel").environment.tools
    ]
    finding = await ask("W8", make_built(load("hotel"), tools=tools), jail)
    assert [
        (one.outcome, one.reason, one.detail.partition(", and")[0]) for one in finding.spread()
    ] == [
        ("dropped", "undeclared_write", "check_out writes chores and does not say so"),
        ("dropped", "write_not_seen", "add_charge says it writes guests"),
        ("corrected", "undeclared_read", "get_bill reads payments and does not say so"),
    ]
    _, unseen, read = finding.spread()
    assert (unseen.evidence["fault"], unseen.evidence["tables"]) == ("test", ["guests"])
    assert "guests" in unseen.question
    assert "payments" in read.evidence["touched"]["get_bill"]["reads"]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
async def test_sessions_reset_in_place_touch_what_sessions_of_their_own_touch(
    name: str, jail: Sandbox
) -> None:
    built, means = make_built(load(name)), GateContext(jail)
    explored = await explore(built, means)
    found, touched = await find_untrue(built, explored, means)
    alone = await find_untrue(built, explored, replace(means, sandbox=jail.careful))
    assert (found, touched) == alone == ([], touched)
    assert any(one["writes"] for one in touched.values())


@pytest.mark.long
async def test_a_read_that_nobody_declared_is_corrected_and_drops_nothing(jail: Sandbox) -> None:
    tools = [
        tool.model_copy(update={"reads": ["bookings", "charges", "rooms", "room_types"]})
        if tool.name == "get_bill"
        else tool
        for tool in load("hotel").environment.tools
    ]
    finding = await ask("W8", make_built(load("hotel"), tools=tools), jail)
    assert [(one.outcome, one.reason) for one in finding.spread()] == [
        ("corrected", "undeclared_read")
    ]


async def test_tables_that_are_not_those_of_the_schema_are_seen(jail: Sandbox) -> None:
    tables = load("hotel").environment.tables
    missing = tables[0].model_copy(update={"columns": tables[0].columns[:-1]})
    for wrong, words in (
        (tables[1:], "the schema makes the tables"),
        ([missing, *tables[1:]], "room_types has the columns"),
    ):
        finding = await ask("W2", make_built(load("hotel"), tables=wrong), jail)
        assert (finding.outcome, finding.reason) == ("dropped", "schema_misread")
        assert words in finding.detail


async def ask(gate: str, built: EnvironmentCase, jail: Sandbox) -> Finding:
    return await next(one for one in ENVIRONMENT_GATES if one.name == gate).check(
        built, GateContext(jail)
    )


async def test_a_read_that_shows_no_row_is_asked_for_by_a_masked_call(jail: Sandbox) -> None:
    folder = load("workshop")
    find = Call(name="find_parts", arguments={"words": "Pedal"})
    fact = Fact(name="how many", kind="number", value=0)
    changed = {
        "oracle": [find],
        "say": "There are 0.",
        "request": "How many pedals are there?",
        "polarity": "answer",
    }
    posed = folder.scenarios[0].model_copy(
        update={
            **changed,
            "verifier": folder.scenarios[0].verifier.model_copy(update={"facts": [fact]}),
        }
    )
    (required,) = (await derive(jail, folder, posed)).procedure
    assert (required.op, required.call.arguments) == ("required", {"words": {"$text": "Pedal"}})


async def test_policies_that_do_not_fit_a_scenario_are_seen(jail: Sandbox) -> None:
    """A wish in an exempt column is dropped; a hard one that chance decides is told."""
    environment = load("hotel").environment
    policies = {
        **list_policies(environment.tables),
        "bookings.wishes": "exempt",
        "bookings.booked_at": "hard",
    }
    folder = replace(
        load("hotel"),
        environment=environment.model_copy(
            update={"tables": derive_tables(environment.files, policies)}
        ),
    )
    family = folder.scenarios[2]
    family = family.model_copy(update={"verifier": await derive(jail, folder, family)})
    s12 = next(gate for gate in SCENARIO_GATES if gate.name == "S12")
    finding = await s12.check(ScenarioCase(family, folder.environment), GateContext(jail))
    assert (finding.outcome, finding.reason) == ("dropped", "exempt_wish")
    assert "'a cot for the baby' in bookings.wishes" in finding.detail
    assert list_chance(folder.environment.tables, family.verifier) == ["bookings.booked_at"]
    assert list_chance(environment.tables, folder.scenarios[2].verifier) == []


async def test_a_column_the_verifier_forgets_is_seen(jail: Sandbox) -> None:
    """Each value that is asked for, in turn let go."""
    folder = load("hotel")
    s12 = next(gate for gate in SCENARIO_GATES if gate.name == "S12")
    move = folder.scenarios[3]
    assert move.verifier.goals
    for number, goal in enumerate(move.verifier.goals):
        goals = [
            goal.model_copy(update={"value": {"$exempt": True}}) if each is goal else each
            for each in move.verifier.goals
        ]
        loose = move.model_dump() | {
            "verifier": move.verifier.model_copy(update={"goals": goals}),
            "id": "",
        }
        finding = await s12.check(
            ScenarioCase(Scenario.model_validate(loose), folder.environment), GateContext(jail)
        )
        assert (finding.outcome, finding.reason) == ("dropped", "unasked_column"), number
        assert ".".join(goal.path) in finding.detail


def test_policies_and_tables_count_for_the_id() -> None:
    environment = load("hotel").environment
    fewer = environment.model_dump() | {"tables": environment.tables[1:], "id": ""}
    assert Environment.model_validate(fewer).id != environment.id


async def test_sessions_replay_and_come_back_from_snapshots(
    jail: Sandbox, settings: Settings
) -> None:
    async with Sandbox.open(settings, 1) as away:
        for name in NAMES:
            folder = load(name)
            program, scenario = Program.of(folder.environment), folder.scenarios[0]
            calls = [Invoke(call) for call in scenario.oracle]
            recording = await record(program, [start(scenario), *calls, Changes(), Look()], jail)
            assert await replay(program, recording, away) is None
            look = recording.seen[-1]["state"]
            assert recording.seen[-2]["parts"][0]["value"] == [
                one.model_dump() for one in diff_states(scenario.initial_state, look)
            ]
            *_, taken = await jail.play(program, [start(scenario), calls[0], Snapshot()])
            moved = await away.play(program, [Restore(taken.parts[0]["value"]), *calls[1:], Look()])
            assert moved[-1].state == look


async def test_rollouts_are_rescored_from_what_was_stored(jail: Sandbox) -> None:
    outcomes: set[tuple[str, str]] = set()
    for name in NAMES:
        environment = load(name).environment
        for scenario in load(name).scenarios:
            for policy in ("reference", "careless"):
                rollout = await play_scenario(
                    find_policy(policy), scenario, environment, jail, "probe", 0
                )
                assert rollout.changes is not None
                again = await rescore(rollout, scenario, environment, jail)
                assert (again.basis, again.changed) == ("changes", False)
                outcomes.add((policy, rollout.outcome))
    assert ("reference", "fail") not in outcomes
    assert {("reference", "pass"), ("careless", "fail")} <= outcomes


async def test_touched_tables_are_told_once_and_ours_are_not_among_them(jail: Sandbox) -> None:
    folder = load("workshop")
    use = Invoke(Call(name="use_part", arguments={"job_id": 33, "part_id": 43, "quantity": 1}))
    reset = Reset(folder.scenarios[0].initial_state, "2026-03-02T09:00:00+00:00", 1)
    seen = await jail.play(
        Program.of(folder.environment),
        [reset, Touched(), use, Touched(), Touched(), use, Look(), Touched()],
    )
    nothing = {"reads": [], "writes": []}
    told = [one.parts[0]["value"] for one in (seen[1], seen[3], seen[4], seen[7])]
    assert told[0] == told[2] == nothing
    # A statement that stayed prepared, which SQLite asks about no more, and our own reading of the state make no difference.
    assert told[1] == told[3]
    assert told[1] == {
        "reads": ["job_parts", "jobs", "parts"],
        "writes": ["job_parts", "movements", "parts"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_folder_is_the_same_and_is_judged_where_nothing_is_installed(
    name: str, tmp_path: Path
) -> None:
    folder = load(name)
    output = pack_environment(folder.environment, folder.scenarios, folder.tests)
    write_output(output, tmp_path, "r")
    home = tmp_path / output.name
    assert read_folder(home).environment == folder.environment
    assert all(
        "writes" not in tool
        for tool in json.loads((home / "envrun/environment.json").read_text())["tools"]
    )
    assert {
        (one["sound"], one["oracle"], one["do_nothing"]) for one in ask_bare(home, ["check"])
    } == {(True, 1.0, 0.0)}
