"""Recipe `scaleenv` end to end: tools and what they promise, tables that follow from that, and
every gate."""

import ast
import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.base.settings import Settings
from envmill.gates.w3 import judge_test, play_tests
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.sql.database import ROWS_FAULT, TOOLS_FAULT, find_database_faults
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.recipes import scaleenv
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.mending import mend, take_test
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.build import assemble_environment, store_tests
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.base import Json, canonical_json
from schemas.chain import ChainStep, FromNode
from schemas.environment import Blueprint, Build, Environment
from schemas.prompts import ProgramReply, TestsReply
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Brief, Seed
from schemas.tool_prompts import BlameVerdict, ChainReply, DebugReply, MatchedTests, RedTest
from tests.interop.bundles.five import check_five
from tests.recipes.test_awm import Scripted, complain
from tests.recipes.walks import check_chains, check_walk, walk_recipe
from tests.soak import count

SEED = 7
THEME = "pharmacy_stock"
RECIPE = scaleenv.make(read_themes())
Built = tuple[Environment, ProgramReply, MatchedTests]


async def think_up(
    models: Scripted, faults: Sequence[str] = (), before: Blueprint | None = None
) -> Blueprint:
    brief = Brief(theme=THEME, text=dict(read_themes())[THEME], number=0)
    return await RECIPE.think_up(
        Seed(recipe="scaleenv", brief=brief, licence="MIT"),
        complain(*faults),
        cast(ModelSession, models),
        before,
    )


async def test_tables_follow_from_tools_and_open_and_fill(jail: Sandbox) -> None:
    models = Scripted()
    plan = await think_up(models)
    assert models.asked == ["toolset", "rows"], "nobody is asked for a schema"
    assert await find_database_faults(plan, jail) == []
    assert plan.rows.keys() == plan.collections.keys()
    assert plan.promises.keys() == plan.touches.keys() == {tool.name for tool in plan.tools}
    assert any(one.requires and one.ensures for one in plan.promises.values())


@pytest.mark.parametrize(
    ("prompt", "kind", "part", "again"),
    [
        ("toolset", "disagreeing_sorts", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "reference_to_no_table", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "row_half_made", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "misspelt_table", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "tool_without_promise", TOOLS_FAULT, ["toolset", "rows"]),
        ("toolset", "wrong_effect", TOOLS_FAULT, ["toolset", "rows"]),
        ("rows", "dangling_reference", ROWS_FAULT, ["rows"]),
        ("rows", "missing_value", ROWS_FAULT, ["rows"]),
    ],
)
async def test_a_mistake_is_blamed_on_tools_or_rows_and_only_these_are_asked_again(
    jail: Sandbox, prompt: str, kind: str, part: str, again: Sequence[str]
) -> None:
    plan = await think_up(Scripted(prompt, kind))
    faults = await find_database_faults(plan, jail)
    assert {fault[: len(part)] for fault in faults} == {part}, faults
    models = Scripted()
    mended = await think_up(models, faults, plan)
    assert models.asked == again
    assert await find_database_faults(mended, jail) == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def built(jail: Sandbox) -> Built:
    """An environment with its tests, all green."""
    models = cast(ModelSession, Scripted())
    plan = await think_up(Scripted())
    program = await RECIPE.write_program(plan, None, FIRST, models)
    environment = assemble_environment(plan, program, models)
    tests = await RECIPE.write_tests(environment, None, FIRST, models, cast(Json, plan.rows))
    assert isinstance(tests, MatchedTests)
    assert await run(environment, tests, jail) == {}
    return environment, program, tests


async def run(environment: Environment, tests: TestsReply, jail: Sandbox) -> dict[int, str]:
    played = await play_tests(environment, store_tests(environment, tests), jail)
    return {
        place: fault
        for place, (test, seen) in enumerate(played)
        if (fault := judge_test(test, seen))
    }


async def test_each_test_has_an_instance_on_which_it_succeeds_or_is_refused(built: Built) -> None:
    environment, _, tests = built
    stored = store_tests(environment, tests)
    assert {one.expect for one in stored} == {"success", "rejection"}
    assert len({canonical_json(one.initial_state) for one in stored}) > len(stored) / 4, (
        "rows are a test's own"
    )
    assert not any(one.setup for one in stored), (
        "what has to be done before has been done to the rows"
    )


async def test_a_broken_method_is_blamed_and_nothing_else_is_written_anew(
    built: Built, jail: Sandbox
) -> None:
    environment, program, tests = built
    broken = re.sub(r"( +)raise Rejection\(\"older_first\".*", r"\1pass", program.source)
    assert broken != program.source
    spoilt = program.model_copy(update={"source": broken})
    sick = environment.model_copy(
        update={"id": "", "files": {**environment.files, "program.py": broken}}
    )
    red = await run(sick, tests, jail)
    models = Scripted()
    mended = await RECIPE.debug(sick, spoilt, tests, red, FIRST, cast(ModelSession, models))
    assert models.asked == ["debug"], "one tool is red, one is asked about"
    assert mended is not None
    assert mended.fault == "code"
    assert mended.plan == tests
    assert ast.dump(ast.parse(mended.program.source)) == ast.dump(ast.parse(program.source))


async def test_a_wrong_instance_is_blamed_and_the_method_stays(built: Built, jail: Sandbox) -> None:
    environment, program, tests = built
    place = next(
        place
        for place, test in enumerate(tests.tests)
        if test.call.name == "issue_units" and test.expect == "success"
    )
    wrong = tests.model_copy(deep=True)
    wrong.instances[place]["wards"] = {}
    wrong.instances[place]["issues"] = {}
    red = await run(environment, wrong, jail)
    assert list(red) == [place]
    models = Scripted()
    mended = await RECIPE.debug(environment, program, wrong, red, FIRST, cast(ModelSession, models))
    assert models.asked == ["debug"]
    assert mended is not None
    assert mended.fault == "state"
    assert mended.program == program
    assert await run(environment, mended.plan, jail) == {}


async def test_both_at_fault_is_nobodys_fault_alone(built: Built) -> None:
    _, program, tests = built
    one = RedTest(number=0, test=take_test(tests, 0), seen="")
    two = RedTest(number=1, test=take_test(tests, 1), seen="")
    other = BlameVerdict(number=1, blame="instance", reason="", mended=take_test(tests, 2))
    stray = BlameVerdict(number=9, blame="instance", reason="", mended=take_test(tests, 2))
    reply = DebugReply(
        verdicts=[BlameVerdict(number=0, blame="tool", reason=""), other, stray],
        source="def x(self) -> None:\n    pass\n",
    )
    mended = mend(program, tests, [([one, two], reply)])
    assert mended.fault == "unknown"
    assert [
        place
        for place in range(len(tests.tests))
        if take_test(mended.plan, place) != take_test(tests, place)
    ] == [1]


async def pose(
    jail: Sandbox, environment: Environment, models: Scripted, number: int = 0
) -> Result:
    nothing: Any = None
    config = RunConfig(recipe="scaleenv", seed=SEED, polarities={"achieve": 1}, suspicions="keep")
    context = RunContext("r", config, nothing, RECIPE, nothing, jail)
    return await generate_draft(
        Subject("x", "y", THEME, ScenarioSlot(environment, number)),
        context,
        cast(ModelSession, models),
    )


@pytest.mark.long
async def test_a_chain_is_carried_out_and_its_calls_are_the_reference_path(
    built: Built, jail: Sandbox
) -> None:
    environment, *_ = built
    reply = await RECIPE.pose(
        ScenarioBrief(environment, 1, "achieve"), FIRST, cast(ModelSession, Scripted())
    )
    assert isinstance(reply, ChainReply)
    assert reply.oracle == []
    (draft, *_) = (await pose(jail, environment, Scripted(), 1)).records
    assert isinstance(draft, Draft)
    taken = [
        one
        for node in reply.chain.nodes
        if isinstance(node, ChainStep)
        for one in node.arguments.values()
        if isinstance(one, FromNode)
    ]
    assert taken, "values flow from call to call"
    steps = [node.tool for node in reply.chain.nodes if isinstance(node, ChainStep)]
    assert [call.name for call in draft.oracle][: len(steps)] == steps
    assert len(draft.oracle) > len(steps), "it was expanded"
    assert draft.changes


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("unsaid_value", "not_said"),
        ("path_to_nowhere", "no_output"),
        ("nobody_picked", "nothing_chosen"),
        ("recited_key", "not_said"),
        ("step_left_out", "not_there_yet"),
        ("unknown_tool", "refused"),
    ],
)
async def test_a_chain_that_cannot_stand_is_sent_back_and_then_dropped_by_its_reason(
    built: Built, jail: Sandbox, kind: str, reason: str
) -> None:
    environment, *_ = built
    once = await pose(jail, environment, Scripted("chain", kind))
    assert [one.outcome for one in once.records if isinstance(one, Build)] == ["failed", "built"]
    never = await pose(jail, environment, Scripted("chain", kind, mended=False))
    finding = never.stopped_by
    assert finding is not None
    assert (finding.gate, finding.outcome) == ("oracle", "dropped")
    assert finding.reason.removeprefix("chain_").removeprefix("expansion_") in reason.split("|"), (
        finding
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Settings]:
    return asyncio.run(walk_recipe("scaleenv", tmp_path_factory.mktemp("scaleenv")))


@pytest.mark.long
def test_environments_and_scenarios_come_of_it(finished: list[Settings]) -> None:
    check_walk(finished)
    assert all(
        one.verifier.goals
        for one in Lake(finished[0].lake).read(Scenario, "r1")
        if one.polarity == "achieve"
    )


@pytest.mark.long
@pytest.mark.soak(area="mcp")
@pytest.mark.skipif(
    not count(0, 1), reason="under `make test` recipes awm and envfactory: make soak AREA=mcp"
)
async def test_five_policies_earn_the_same_wherever_a_folder_is_played(
    finished: list[Settings], tmp_path: Path
) -> None:
    assert await check_five(finished[0], "r1", count(1, 20), tmp_path) == count(1, 20)


@pytest.mark.long
async def test_every_kept_chain_passes_the_validator_and_needs_each_of_its_thoughts(
    finished: list[Settings], jail: Sandbox
) -> None:
    await check_chains(finished, jail)
