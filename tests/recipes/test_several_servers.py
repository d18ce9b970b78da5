"""Environments of several servers: planned, built, and scenarios that need two of them or more,
written, played, judged and exported."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.agents import find_policy
from envmill.agents.replay import replay_rollout
from envmill.agents.rollout import play_scenario
from envmill.gates import GATES
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.findings import EnvironmentCase, GateContext
from envmill.kinds.sql.database import find_database_faults
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.recipes.drafting.servers import list_used
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.build import assemble_environment, store_tests
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.environment import Blueprint, Environment
from schemas.run import RunConfig
from schemas.scenario import Scenario
from schemas.seed import Brief, Seed
from schemas.servers import list_servers
from tests.recipes.test_awm import Scripted
from tests.recipes.test_envfactory import RECIPE, SEED, read
from tests.soak import count

THEME = "blood_bank"


async def think_up(servers: int) -> Blueprint:
    brief = Brief(theme=THEME, text=dict(read_themes())[THEME], number=0, servers=servers)
    return await RECIPE.think_up(
        Seed(recipe="envfactory", brief=brief, licence="MIT"), FIRST, cast(ModelSession, Scripted())
    )


async def build(servers: int) -> Environment:
    asked = cast(ModelSession, Scripted())
    plan = await think_up(servers)
    return assemble_environment(plan, await RECIPE.write_program(plan, None, FIRST, asked), asked)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def built() -> Environment:
    return await build(2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three() -> Environment:
    return await build(3)


async def pose(
    jail: Sandbox,
    environment: Environment,
    number: int,
    models: Scripted | None = None,
    requests: int = 1,
) -> Result:
    nothing: Any = None
    config = RunConfig(
        recipe="envfactory",
        seed=SEED,
        polarities={"achieve": 1},
        suspicions="keep",
        requests=requests,
    )
    context = RunContext("r", config, nothing, RECIPE, nothing, jail)
    slot = ScenarioSlot(environment, number)
    return await generate_draft(
        Subject("x", "y", THEME, slot), context, cast(ModelSession, models or Scripted())
    )


async def finish_one(
    jail: Sandbox, environment: Environment, number: int = 0, requests: int = 1
) -> Scenario:
    draft, _ = read(await pose(jail, environment, number, requests=requests))
    return await finish(await prepare(draft, environment, jail), "binary", jail)


def test_the_run_says_how_many_servers_and_they_come_in_turn() -> None:
    for most, wanted in ((1, [None] * 4), (2, [2, None, 2, None]), (3, [3, 2, None, 3])):
        seeds = RECIPE.pick_seeds(
            RunConfig(recipe="envfactory", environments=4, seed=SEED, servers=most)
        )
        assert [seed.brief.servers for seed in seeds] == wanted
        assert not any(seed.brief.servers and seed.brief.user_side for seed in seeds)


async def test_a_plan_of_several_servers_stands(jail: Sandbox) -> None:
    for servers in (2, 3):
        plan = await think_up(servers)
        assert len(list_servers(plan.shared)) == servers
        assert await find_database_faults(plan, jail) == []


@pytest.mark.long
@pytest.mark.parametrize("number", range(3))
async def test_scenarios_use_two_servers_and_more(
    number: int, built: Environment, three: Environment, jail: Sandbox
) -> None:
    for environment, wanted in ((built, 2), (three, 2 + number % 2)):
        draft, _ = read(await pose(jail, environment, number))
        assert draft.chain is not None
        assert len(list_used(draft.chain, environment)) == wanted


async def test_a_scenario_is_played_judged_replayed_and_exported(
    three: Environment, jail: Sandbox, tmp_path: Path
) -> None:
    scenario = await finish_one(jail, three, 1)
    for form in ("single", "conversation"):
        played = await play_scenario(
            find_policy("reference"), scenario, three, jail, "probe", 0, form=form
        )
        assert played.outcome == "pass"
        assert await replay_rollout(played, scenario, three, jail) is None
    scenario = scenario.model_copy(update={"environment": three.id})
    write_output(pack_environment(three, [scenario]), tmp_path, "r")
    with Bundle(tmp_path / "bundle" / three.id) as bundle:
        episode = bundle.begin(f"{scenario.number:03d}", form="single")
        assert all(episode.call(call.name, call.arguments)["ok"] for call in scenario.oracle)
        episode.say(scenario.say or "Done.")
        assert episode.score()["outcome"] == "pass"
        episode.close()


async def test_requests_and_servers_combine(three: Environment, jail: Sandbox) -> None:
    scenario = await finish_one(jail, three, 2, requests=3)
    assert len(scenario.parts) == 3
    played = await play_scenario(
        find_policy("reference"), scenario, three, jail, "probe", 0, form="conversation"
    )
    assert played.outcome == "pass"


class Changed(Scripted):
    """Writes a scenario and changes it, always in the same way."""

    def __init__(self, change: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._change = change

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        if prompt.name != "topology":
            return told
        written = told.model_dump()
        self._change(written)
        return reply.model_validate(written)


def find_shared(written: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in written["identities"] if len(one["servers"]) > 1)


def forget_a_row(written: dict[str, Any]) -> None:
    """The claim stays, and no row of that server bears the name."""
    claim = next(one for one in written["identities"] if one["servers"] == ["hotel"])
    claim["servers"] = ["blood", "hotel"]


def move_house(written: dict[str, Any]) -> None:
    """Somebody lives elsewhere in one of the servers."""
    name = find_shared(written)["key"]
    row = next(
        row for row in written["initial_state"]["hotel_guests"].values() if row["name"] == name
    )
    row["town"] = "Nowhere"


def claim_one_each(written: dict[str, Any]) -> None:
    written["identities"] = [one | {"servers": one["servers"][:1]} for one in written["identities"]]


def say_the_name(written: dict[str, Any]) -> None:
    """The person is named, so the second server can be asked without the first one."""
    named = next(
        step for step in written["chain"]["nodes"] if step.get("tool") == "hotel_find_guest"
    )
    rows = written["initial_state"]["hotel_guests"].values()
    written["request"] += " That is one of " + ", ".join(row["name"] for row in rows) + "."
    assert named["arguments"]["query"]["kind"] == "node"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (forget_a_row, "identity_missing"),
        (move_house, "identity_differs"),
        (claim_one_each, "identity_unshared"),
        (say_the_name, "servers_apart"),
    ],
)
async def test_a_scenario_whose_servers_do_not_belong_together_is_refused(
    change: Callable[[dict[str, Any]], None], reason: str, built: Environment, jail: Sandbox
) -> None:
    stopped = (await pose(jail, built, 0, Changed(change))).stopped_by
    assert stopped is not None
    assert (stopped.gate, stopped.reason) == ("oracle", reason)


@pytest.mark.long
async def test_somebody_whom_one_server_alone_knows_is_no_fault(
    built: Environment, jail: Sandbox
) -> None:
    """Of the honest scenario: some people stand in one server, and claims of those whom nothing is
    about may be left out."""

    def leave_out(written: dict[str, Any]) -> None:
        alone = [one for one in written["identities"] if len(one["servers"]) == 1]
        assert alone
        written["identities"] = [one for one in written["identities"] if one not in alone]

    for change in (lambda _: None, leave_out):
        assert (await pose(jail, built, 0, Changed(change))).stopped_by is None


async def test_a_path_of_fewer_servers_than_asked_for_is_refused(
    three: Environment, jail: Sandbox
) -> None:
    class Fewer(Scripted):
        async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
            asked = inputs.model_copy(update={"number": 0}) if prompt.name == "topology" else inputs
            return await super().ask(prompt, asked, reply, **other)

    stopped = (await pose(jail, three, 1, Fewer())).stopped_by
    assert stopped is not None
    assert stopped.reason == "chain_too_few_servers"


def read_one_only(written: dict[str, Any]) -> None:
    """Nothing is changed in the hotel, and nothing that it replies is of use to the other
    server."""
    nodes = written["chain"]["nodes"]
    idle = {
        node["id"]
        for node in nodes
        if node.get("tool", "").startswith("hotel_")
        and node["tool"].split("_")[1] not in ("find", "list")
    }
    assert idle
    written["chain"]["nodes"] = [node for node in nodes if node["id"] not in idle]


@pytest.mark.long
async def test_a_server_that_is_not_needed_is_refused(built: Environment, jail: Sandbox) -> None:
    """That a server is only read is no fault: the honest scenario reads in the first one who is
    meant in the second one."""
    draft, _ = read(await pose(jail, built, 0))
    assert {change.path[0].partition("_")[0] for change in draft.changes} == {"hotel"}
    stopped = (await pose(jail, built, 1, Changed(read_one_only))).stopped_by
    assert stopped is not None
    assert stopped.reason == "server_not_needed"


class Ignoring(Scripted):
    """Writes every scenario so that its servers do not belong together: in the next of several ways
    that has a place in it."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = [forget_a_row, move_house, claim_one_each, say_the_name, read_one_only]

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        if prompt.name != "topology":
            return told
        for way in self.ways:
            written = told.model_dump()
            try:
                way(written)
            except (AssertionError, StopIteration):
                continue
            self.ways = [*(one for one in self.ways if one is not way), way]
            return reply.model_validate(written)
        raise AssertionError("no way has a place")


SCENARIOS, EVERY = count(4, 300), count(2, 5)


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
async def test_who_ignores_that_servers_belong_together_is_sent_back(
    built: Environment, jail: Sandbox
) -> None:
    """In a soak 300 scenarios, 60 of an author who ignores it. None of an honest one is refused."""
    ignoring, found = Ignoring(), Counter[str]()
    for number in range(SCENARIOS):
        skips = number % EVERY == 0
        stopped = (await pose(jail, built, number, ignoring if skips else None)).stopped_by
        found[
            ("skipped" if skips else "honest") + (f": {stopped.reason}" if stopped else ": passed")
        ] += 1
    refused = [name for name in found if name.startswith("honest") and not name.endswith("passed")]
    assert refused == [], found
    assert found["skipped: passed"] <= SCENARIOS // EVERY // 20, found


def rename_tool(plan: dict[str, Any]) -> None:
    plan["tools"][0]["name"] = "find_anything"


def lose_a_server(plan: dict[str, Any]) -> None:
    plan["brief"]["servers"] = 3


def share_with_nobody(plan: dict[str, Any]) -> None:
    plan["shared"].append(plan["shared"][0] | {"tables": {"hotel": "hotel_guests"}})


def point_across(plan: dict[str, Any]) -> None:
    plan["files"]["schema.sql"] += (
        "\nCREATE TABLE hotel_letters (id TEXT PRIMARY KEY, donor_id TEXT REFERENCES blood_donors "
        "(id));\n"
    )


def lack_a_column(plan: dict[str, Any]) -> None:
    plan["shared"][0]["fields"] = ["shoe_size"]


def name_no_server(plan: dict[str, Any]) -> None:
    plan["files"]["schema.sql"] += "\nCREATE TABLE letters (id TEXT PRIMARY KEY);\n"


def touch_across(plan: dict[str, Any]) -> None:
    next(touch for name, touch in plan["touches"].items() if name.startswith("hotel_"))[
        "reads"
    ].append("blood_donors")


def know_nobody(plan: dict[str, Any]) -> None:
    for row in plan["rows"]["hotel_guests"].values():
        row["name"] += " Junior"


def differ(plan: dict[str, Any]) -> None:
    for row in plan["rows"]["hotel_guests"].values():
        row["town"] = "Nowhere"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (rename_tool, "find_anything is a tool of no server"),
        (lose_a_server, "3 servers are asked for"),
        (share_with_nobody, "shared by one server"),
        (point_across, "schema.sql: hotel_letters.donor_id refers to blood_donors"),
        (lack_a_column, "schema.sql: blood_donors lacks the column shoe_size"),
        (name_no_server, "schema.sql: The table letters belongs to no server"),
        (touch_across, "touches blood_donors, of another server"),
        (know_nobody, "rows: No shared identity stands in the tables of two servers"),
        (differ, "rows: person"),
    ],
)
async def test_a_plan_whose_servers_are_not_apart_or_share_nothing_is_sent_back(
    spoil: Callable[[dict[str, Any]], None], words: str, jail: Sandbox
) -> None:
    plan = (await think_up(2)).model_dump()
    spoil(plan)
    faults = await find_database_faults(Blueprint.model_validate(plan | {"id": ""}), jail)
    assert any(words in fault for fault in faults), faults


async def test_a_tool_that_reads_tables_of_another_server_is_dropped(
    built: Environment, jail: Sandbox
) -> None:
    plan, asked = await think_up(2), cast(ModelSession, Scripted())
    written = store_tests(built, await RECIPE.write_tests(built, None, FIRST, asked, plan.rows))
    # The gate plays every tool there is: those of one server that find and list are enough here.
    tools = [tool for tool in built.tools if tool.name.startswith(("hotel_find", "hotel_list"))]
    built = Environment.model_validate(built.model_dump() | {"id": "", "tools": tools})
    tests = tuple(
        test.model_copy(update={"environment": built.id})
        for test in written
        if {test.call.name, *(call.name for call in test.setup)} <= {tool.name for tool in tools}
    )
    assert tests
    assert (
        await GATES["W8"].check(EnvironmentCase(built, tests), GateContext(jail))
    ).outcome != "dropped"
    head = '        if not self._db.query("SELECT id FROM hotel_guests WHERE instr(lower(name)'
    assert head in built.files["program.py"]
    source = built.files["program.py"].replace(
        head, f'        self._db.query("SELECT id FROM blood_donors")\n{head}', 1
    )
    crossed = Environment.model_validate(
        built.model_dump() | {"id": "", "files": {**built.files, "program.py": source}}
    )
    tests = tuple(test.model_copy(update={"environment": crossed.id}) for test in tests)
    found = await GATES["W8"].check(EnvironmentCase(crossed, tests), GateContext(jail))
    assert (found.outcome, found.reason) == ("dropped", "foreign_table"), found
