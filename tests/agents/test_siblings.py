"""Tools of sibling services: shown to agents, answered without the program, and of no consequence
for what is judged."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.base import Actor, Say
from envmill.agents.replay import replay_rollout
from envmill.agents.rollout import play_scenario
from envmill.agents.transcript import list_tools
from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds import KINDS
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.toolgraph.siblings import choose_siblings, read_services, show_siblings
from schemas.environment import Call, Environment
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.specimens import LEND, PROGRAM, STATE, make_environment, make_scenario

in_one_loop = pytest.mark.asyncio(loop_scope="module")
SHED = make_environment()
RESET = Reset(STATE, "2026-03-02T09:00:00+00:00", 7)


def widen(visible: int) -> Environment:
    return show_siblings(SHED, RunConfig(visible=visible))


WIDE = widen(60)
LISTING = next(
    tool for tool in WIDE.beside if tool.effect == "query" and not tool.parameters["required"]
)
LOOKUP = next(
    tool for tool in WIDE.beside if tool.effect == "query" and tool.parameters["required"]
)
CHANGE = next(
    tool for tool in WIDE.beside if tool.effect == "change" and "string" in str(tool.parameters)
)


def fill(name: str) -> Call:
    """A call whose arguments fit."""
    tool = next(tool for tool in WIDE.beside if tool.name == name)
    values = {"string": "X1", "integer": 1, "number": 1.0, "boolean": True}
    given = {each: tool.parameters["properties"][each] for each in tool.parameters["required"]}
    return Call(
        name=name,
        arguments={
            each: schema.get("enum", [values[schema["type"]]])[0] for each, schema in given.items()
        },
    )


class Lost:
    """Tries tools of other services, and then does what is asked."""

    name = "lost"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        self.left = [
            fill(LISTING.name),
            fill(LOOKUP.name),
            Call(name=LOOKUP.name),
            fill(CHANGE.name),
            *scenario.oracle,
        ]
        return self

    def act(self, last: Observation | Say | None) -> Call | Say:
        return self.left.pop(0) if self.left else Say("Done.")


def test_as_many_tools_are_shown_as_asked_for_each_under_a_name_of_its_own() -> None:
    for visible in (20, 60, 150, 200):
        names = [tool["name"] for tool in list_tools(widen(visible))]
        assert len(names) == len(set(names)) == visible
        assert names == sorted(names)
    assert {tool.name for tool in SHED.tools} <= {tool.name for tool in WIDE.shown}
    assert (
        choose_siblings(SHED, 60) == WIDE.beside != choose_siblings(make_environment(rules=[]), 60)
    )
    with pytest.raises(SettingsError, match="set `visible` to"):
        choose_siblings(SHED, 2000)


def test_no_service_stands_beside_one_of_its_own_theme() -> None:
    theme = WIDE.beside[0].sibling
    alike = make_environment(brief=SHED.brief.model_copy(update={"theme": theme}))
    assert theme not in {tool.sibling for tool in choose_siblings(alike, 200)}


def test_a_name_that_is_taken_gets_its_service_in_front() -> None:
    service = WIDE.beside[0].sibling
    tools = read_services()[service]
    taken = make_environment(
        tools=[SHED.tools[0].model_copy(update={"name": tools[0].name}), *SHED.tools[1:]]
    )
    names = {tool.name for tool in choose_siblings(taken, 200) if tool.sibling == service}
    assert f"{service}_{tools[0].name}" in names
    assert tools[0].name not in names


def test_an_environment_that_shows_its_own_tools_alone_keeps_its_id() -> None:
    assert show_siblings(SHED, RunConfig()) is SHED
    assert make_environment(beside=[]).id == SHED.id != WIDE.id
    assert WIDE.tools == SHED.tools
    assert Program.of(WIDE).message == Program.of(SHED).message


def test_no_policy_is_told_which_tools_belong_to_siblings() -> None:
    assert "sibling" not in json.dumps(list_tools(WIDE))


@in_one_loop
async def test_a_call_of_a_sibling_is_answered_and_changes_nothing(sandbox: Sandbox) -> None:
    program = Program.shown(WIDE)
    await sandbox.inspect(program)
    calls = [
        fill(LISTING.name),
        fill(LOOKUP.name),
        Call(name=LOOKUP.name),
        fill(CHANGE.name),
        Call(name="no_such_tool"),
    ]
    start, *seen = await sandbox.play(program, [RESET, *map(Invoke, calls)])
    assert [one.outcome for one in seen] == [
        "ok",
        "rejection",
        "rejection",
        "rejection",
        "rejection",
    ]
    assert [one.code for one in seen[1:]] == [
        "not_found",
        "invalid_arguments",
        "not_permitted",
        "unknown_tool",
    ]
    assert seen[0].parts == [{"type": "json", "value": []}]
    assert {one.state_hash for one in seen} == {start.state_hash}
    assert LISTING.name in seen[4].message


@in_one_loop
async def test_the_path_is_answered_alike_with_siblings_and_without(sandbox: Sandbox) -> None:
    plan = [RESET, Invoke(Call(name="list_tools")), Invoke(LEND), Look()]
    mixed = [
        RESET,
        Invoke(fill(CHANGE.name)),
        plan[1],
        Invoke(fill(LISTING.name)),
        plan[2],
        Invoke(fill(LOOKUP.name)),
        Look(),
    ]
    bare, wide = (
        await sandbox.play(Program.of(WIDE), plan),
        await sandbox.play(Program.shown(WIDE), plan),
    )
    lost = await sandbox.play(Program.shown(WIDE), mixed)
    assert [(one.parts, one.state_hash) for one in bare] == [
        (one.parts, one.state_hash) for one in wide
    ]
    assert [(one.parts, one.state_hash) for one in bare] == [
        (lost[place].parts, lost[place].state_hash) for place in (0, 2, 4, 6)
    ]
    refused = await sandbox.play(Program.of(WIDE), [RESET, Invoke(fill(LISTING.name))])
    assert refused[1].code == "unknown_tool"


@in_one_loop
async def test_a_rollout_that_tries_siblings_is_judged_by_its_end_and_replays(
    sandbox: Sandbox,
) -> None:
    scenario = make_scenario(WIDE)
    rollout = await play_scenario(Lost(), scenario, WIDE, sandbox, "probe", 0)
    assert (rollout.outcome, rollout.steps) == ("pass", 6)
    assert await replay_rollout(rollout, scenario, WIDE, sandbox) is None
    idle = await play_scenario(
        find_policy("reference"),
        make_scenario(WIDE, oracle=[fill(LISTING.name)]),
        WIDE,
        sandbox,
        "probe",
        0,
    )
    assert idle.outcome == "fail"


@in_one_loop
async def test_a_program_that_lacks_a_tool_of_its_own_is_still_found(sandbox: Sandbox) -> None:
    shorter = make_environment(
        PROGRAM.replace("def get_member", "def find_member"), beside=WIDE.beside
    )
    with pytest.raises(Exception, match="no method for the tool 'get_member'"):
        await sandbox.inspect(Program.shown(shorter))


def test_a_bundle_shows_siblings_and_says_to_no_policy_which_they_are(tmp_path: Path) -> None:
    scenario = make_scenario(WIDE)
    write_folder(tmp_path / "shed", Folder(WIDE, (), (scenario,)))
    read = read_folder(tmp_path / "shed").environment
    assert {tool.name: tool for tool in read.beside} == {tool.name: tool for tool in WIDE.beside}
    assert [tool.name for tool in read.shown] == [tool.name for tool in WIDE.shown]
    output = pack_environment(WIDE, [scenario])
    write_output(output, tmp_path, "r")
    with Bundle(tmp_path / output.name) as bundle:
        assert [tool["name"] for tool in bundle.tools()] == [tool.name for tool in WIDE.shown]
        assert "sibling" not in json.dumps(bundle.tools())


@pytest.mark.parametrize("visible", [20, 60, 150])
def test_siblings_stand_beside_tools_that_a_real_model_wrote(visible: int) -> None:
    source = (
        Path(__file__).parents[1] / "real_authors/envscaler/port_berth_operations/program.py.txt"
    ).read_text(encoding="utf-8")
    (written,) = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)]
    names = [
        one.name
        for one in written.body
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
    ]
    effects: Any = dict.fromkeys(names, "change")
    tools = KINDS["stateful"].derive_tools(source, written.name, effects)
    base = make_environment(source, entry=f"program:{written.name}", tools=tools, tables=[])
    wide = show_siblings(base, RunConfig(visible=visible))
    shown = [tool.name for tool in (*wide.tools, *wide.beside)]
    assert len(shown) == len(set(shown)) == visible
    assert wide.tools == base.tools
