"""Recipe `envfactory` end to end: sketches with types, replies held to them, chains the validator
passed, words judged each time."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.agents.transcript import list_tools as show_tools
from envmill.agents.users.doing import bid, list_deeds, needs_user
from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.gates.base import Finding
from envmill.gates.w3 import find_untyped, play_tests
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.sql.database import find_database_faults
from envmill.kinds.trial import try_calls
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.recipes import envfactory
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.build import assemble_environment, store_tests
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.stages.rehearsal import LOOP
from envmill.toolgraph.topology import find_chain_fault, judge_chain, sample_for, weave_environment
from envmill.toolgraph.validity import WRITTEN, find_faults
from schemas.chain import Chain, ChainStep, FromNode, FromUser, Reason, Source
from schemas.environment import Blueprint, Environment
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Brief, Seed
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import Operator
from tests.interop.bundles.five import check_five
from tests.pipeline.test_runner import ask
from tests.recipes.test_awm import Scripted
from tests.recipes.walks import check_chains, check_walk, walk_recipe
from tests.soak import count

SEED = 7
THEME = "pharmacy_stock"
RECIPE = envfactory.make(read_themes())
ALL = RECIPE.operators


async def think_up(models: Scripted) -> Blueprint:
    brief = Brief(theme=THEME, text=dict(read_themes())[THEME], number=0)
    return await RECIPE.think_up(
        Seed(recipe="envfactory", brief=brief, licence="MIT"), FIRST, cast(ModelSession, models)
    )


async def build(models: Scripted) -> Environment:
    plan, asked = await think_up(models), cast(ModelSession, models)
    return assemble_environment(plan, await RECIPE.write_program(plan, None, FIRST, asked), asked)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def built() -> Environment:
    return await build(Scripted())


async def test_types_are_there_before_tables_and_tables_before_code(jail: Sandbox) -> None:
    models = Scripted()
    plan = await think_up(models)
    assert models.asked == ["sketch", "state", "rows", "metadata"]
    assert plan.signatures.keys() == {tool.name for tool in plan.tools} == plan.touches.keys()
    assert all(one.outputs.get("type") in ("object", "array") for one in plan.signatures.values())
    assert await find_database_faults(plan, jail) == []


class Terse(Scripted):
    """Leaves out what stays as it was sketched."""

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        if prompt.name != "metadata":
            return told
        first, *others = told.model_dump(mode="json")["tools"]
        left = [
            {name: one[name] for name in ("name", "effect", "reads", "writes")} for one in others
        ]
        return reply.model_validate({"tools": [first | {"description": "Said anew."}, *left]})


async def test_what_stays_as_it_was_sketched_need_not_be_said_again() -> None:
    whole, short = await think_up(Scripted()), await think_up(Terse())
    assert short.touches == whole.touches
    assert short.signatures == whole.signatures
    assert [tool.description for tool in short.tools] == [
        "Said anew.",
        *(tool.description for tool in whole.tools[1:]),
    ]


async def test_it_starts_from_known_places_from_a_corpus_or_from_documents() -> None:
    config = RunConfig(recipe="envfactory", environments=2, seed=SEED)
    assert RECIPE.pick_texts(config) == []
    assert {seed.recipe for seed in RECIPE.pick_seeds(config)} == {"envfactory"}
    assert (
        await RECIPE.find_theme("Lend the ladder to Maya.", cast(ModelSession, Scripted()))
    ).reason
    (text,) = RECIPE.pick_texts(
        config.model_copy(update={"documents": "openapi:data/seeds/documents/helpdesk.json"})
    )
    found, *_ = await RECIPE.grow(text, cast(ModelSession, Scripted()))
    seed = RECIPE.make_seed(found, "unknown", "text", config)
    plan = await RECIPE.think_up(seed, FIRST, cast(ModelSession, Scripted()))
    assert plan.brief.outline is not None
    assert {
        tool.name for tool in plan.brief.outline.tools
    } <= plan.signatures.keys() | plan.brief.outline.left_out.keys()


async def find_untyped_replies(environment: Environment, jail: Sandbox) -> list[str]:
    plan = await think_up(Scripted())
    tests = store_tests(
        environment,
        await RECIPE.write_tests(
            environment, None, FIRST, cast(ModelSession, Scripted()), plan.rows
        ),
    )
    return find_untyped(environment, await play_tests(environment, tests, jail))


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("kind", ["", "number_as_truth", "promised_value", "wrapped_reply"])
async def test_what_a_tool_replies_is_held_to_what_its_type_says(kind: str, jail: Sandbox) -> None:
    untyped = await find_untyped_replies(
        await build(Scripted("metadata" if kind else "", kind)), jail
    )
    assert bool(untyped) is bool(kind)
    assert all("does not reply what its type says" in one for one in untyped)


async def test_a_tool_that_takes_something_else_than_its_type_says_does_not_build() -> None:
    with pytest.raises(BuildError, match="its type says"):
        await build(Scripted("metadata", "renamed_input"))


async def test_chains_are_sampled_from_types_and_each_holds(built: Environment) -> None:
    graph = await weave_environment(built)
    sampled = [chain for number in range(8) if (chain := sample_for(built, graph, number))]
    assert len({chain.model_dump_json() for chain in sampled}) == 8
    assert {chain.sampler for chain in sampled} == {"backward"}
    assert [find_chain_fault(graph, chain) for chain in sampled] == [None] * 8


async def test_a_scenario_goes_along_its_chain_and_the_validator_passes_it(
    built: Environment,
) -> None:
    graph, shared = await weave_environment(built), 0
    for number in range(6):
        reply = await RECIPE.pose(
            ScenarioBrief(built, number, "achieve"), FIRST, cast(ModelSession, Scripted())
        )
        assert isinstance(reply, ChainReply)
        assert await judge_chain(built, reply.chain) is None
        drawn = sample_for(built, graph, number)
        assert drawn is not None
        shared += bool(list_tools(drawn) & list_tools(reply.chain))
    assert shared >= 4


async def test_what_only_names_and_types_tell_is_left_to_the_tools(built: Environment) -> None:
    """A request may want two things that have nothing to do with each other, and search for a value
    that bears another name."""
    graph = await weave_environment(built)
    lookups = [place for place, tool in enumerate(graph.tools) if tool.name.startswith("find_")]
    first, then = next(
        pair
        for pair in permutations(lookups, 2)
        if not graph.is_bound(*pair) and not graph.is_bound(*pair[::-1])
    )
    given = next(path for path in graph.parameters.out_by_path[first] if path.startswith("[]."))
    said: Source = FromUser()
    lookup = ChainStep(id="s1", tool=graph.tools[first].name, arguments={"query": said})
    choice = Reason(id="r1", rule="choose", takes=[FromNode(node="s1", path=given)])
    for argument, code in ((said, "adrift"), (FromNode(node="r1"), "another_entity")):
        chain = Chain(
            sampler="author",
            nodes=[
                lookup,
                choice,
                ChainStep(id="s2", tool=graph.tools[then].name, arguments={"query": argument}),
            ],
        )
        assert code in {fault.code for fault in find_faults(graph, chain, WRITTEN)}
        assert find_chain_fault(graph, chain) is None
    nowhere = FromNode(node="s1", path="[].nowhere")
    lost = Chain(
        sampler="author",
        nodes=[
            lookup,
            ChainStep(id="s2", tool=graph.tools[then].name, arguments={"query": nowhere}),
        ],
    )
    assert (fault := find_chain_fault(graph, lost)) is not None
    assert fault.code == "no_output"


def list_tools(chain: Chain) -> set[str]:
    return {node.tool for node in chain.nodes if isinstance(node, ChainStep)}


async def test_without_a_reasoning_node_its_argument_is_underivable(built: Environment) -> None:
    reply = await RECIPE.pose(
        ScenarioBrief(built, 1, "achieve"), FIRST, cast(ModelSession, Scripted())
    )
    assert isinstance(reply, ChainReply)
    reasons = [node for node in reply.chain.nodes if isinstance(node, Reason)]
    assert reasons
    for reason in reasons:
        cut = reply.chain.model_copy(
            update={"nodes": [node for node in reply.chain.nodes if node != reason]}
        )
        fault = await judge_chain(built, cut)
        assert fault is not None
        assert fault.code == "unknown_node"


async def test_a_chain_that_does_not_hold_is_never_carried_out(
    built: Environment, jail: Sandbox
) -> None:
    never = await pose(jail, built, Scripted("topology", "path_to_nowhere", mended=False))
    finding = never.stopped_by
    assert finding is not None
    assert (finding.gate, finding.outcome, finding.reason) == (
        "oracle",
        "dropped",
        "chain_no_output",
    )


async def pose(
    jail: Sandbox,
    environment: Environment,
    models: Scripted,
    operators: Sequence[Operator] = (),
    number: int = 0,
) -> Result:
    nothing: Any = None
    recipe = replace(RECIPE, operators=tuple(operators))
    config = RunConfig(recipe="envfactory", seed=SEED, polarities={"achieve": 1}, suspicions="keep")
    context = RunContext("r", config, nothing, recipe, nothing, jail)
    return await generate_draft(
        Subject("x", "y", THEME, ScenarioSlot(environment, number)),
        context,
        cast(ModelSession, models),
    )


def read(result: Result) -> tuple[Draft, Sequence[Finding]]:
    """The draft, and what was found of it apart from what the gates of the repair loop said."""
    (draft,) = (one for one in result.records if isinstance(one, Draft))
    return draft, [one for one in result.findings if one.gate not in (LOOP, "offer_1")]


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        ("leaked_id", ("S9_hidden_id",)),
        ("changed_fact", ("fact_changed",)),
    ],
)
async def test_words_that_do_not_stand_leave_the_old_ones_with_a_reason(
    kind: str, reasons: Sequence[str], built: Environment, jail: Sandbox
) -> None:
    before, _ = read(await pose(jail, built, Scripted()))
    after, (finding,) = read(
        await pose(jail, built, Scripted("reword", kind), ("minimal_information", "compression"))
    )[0:2]
    assert after == before
    assert (finding.gate, finding.outcome) == ("reword_compression", "not_applicable")
    assert finding.reason.startswith(tuple(reasons)), finding


async def test_words_under_a_mere_suspicion_stand(built: Environment, jail: Sandbox) -> None:
    before, _ = read(await pose(jail, built, Scripted()))
    after, (finding,) = read(
        await pose(
            jail, built, Scripted("reword", "leaked_tool"), ("minimal_information", "compression")
        )
    )[0:2]
    assert (finding.gate, finding.outcome) == ("reword_compression", "kept")
    assert after.request != before.request


async def test_each_operator_leaves_its_mark_and_its_row(built: Environment, jail: Sandbox) -> None:
    before, _ = read(await pose(jail, built, Scripted(), number=1))
    after, findings = read(await pose(jail, built, Scripted(), ALL, number=1))
    outcomes = {one.gate: one.outcome for one in findings}
    assert outcomes.keys() <= {f"reword_{one}" for one in ALL}
    assert outcomes["reword_goal_expansion"] == "kept"
    assert before.oracle == after.oracle[: len(before.oracle)]
    assert len(after.changes) > len(before.changes)
    assert all(one.outcome == "kept" or one.reason for one in findings)
    assert all({"before", "after"} <= one.evidence.keys() for one in findings)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return asyncio.run(walk_recipe("envfactory", tmp_path_factory.mktemp("envfactory")))[0]


@pytest.mark.long
def test_environments_and_scenarios_come_of_it(finished: Settings) -> None:
    check_walk([finished])
    lake = Lake(finished.lake)
    assert all(tool.outputs for one in lake.read(Environment, "r1") for tool in one.tools)
    assert all(one.verifier.goals for one in lake.read(Scenario, "r1") if one.polarity == "achieve")


@pytest.mark.long
async def test_every_kept_chain_passes_the_validator_and_needs_each_of_its_thoughts(
    finished: Settings, jail: Sandbox
) -> None:
    await check_chains([finished], jail)


@pytest.mark.long
@pytest.mark.soak(area="mcp")
async def test_five_policies_earn_the_same_wherever_a_folder_is_played(
    finished: Settings, tmp_path: Path
) -> None:
    assert await check_five(finished, "r1", count(1, 20), tmp_path) == count(1, 20)


@pytest.mark.long
def test_rollouts_say_how_their_steps_compare_with_the_reference_path(finished: Settings) -> None:
    rollouts = [one for one in Lake(finished.lake).read(Rollout, "r1") if one.outcome != "error"]
    assert rollouts
    for one in rollouts:
        assert one.shares.keys() == {"trace", "state", "length", "format", "paid"}
        assert one.outcome != "pass" or one.shares["state"] == 1.0
        assert one.policy != "reference" or one.shares["paid"] == 1.0


def pick_shared(settings: Settings) -> tuple[Scenario, Environment]:
    """A scenario in which the user has to act, and that went out."""
    lake = Lake(settings.lake)
    homes = {one.id: one for one in lake.read(Environment, "r1")}
    kept = ask(
        settings,
        "select subject from attrition where lap = 'scenarios' and gate = 'exit' and stage = "
        "'filter' and outcome = 'kept'",
    )
    one = next(one for one in lake.read(Scenario, "r1") if needs_user(one) and (one.id,) in kept)
    return one, homes[one.environment]


@pytest.mark.long
def test_some_environments_have_a_tool_of_the_users_own_which_the_agent_is_not_shown(
    finished: Settings,
) -> None:
    for one in Lake(finished.lake).read(Environment, "r1"):
        own = [tool for tool in one.tools if "agent" not in tool.actors]
        assert [tool.actors for tool in own] == [["user"]] * one.brief.user_side
        assert {tool["name"] for tool in show_tools(one)}.isdisjoint(tool.name for tool in own)
        assert all(tool.name.replace("_", " ") in one.policy_document for tool in own)
    scenario, environment = pick_shared(finished)
    assert environment.brief.user_side
    gates = ask(
        finished,
        f"select gate from attrition where subject = '{scenario.id}' and stage = 'verify' and "
        "outcome = 'kept'",
    )
    assert {gate for (gate,) in gates} >= {
        "S1",
        "S2",
        "S3",
        "S4",
        "S5",
        "S6",
        "S8",
        "S10",
        "S11",
        "S12",
    }


async def test_a_plan_that_wants_one_is_not_built_without(jail: Sandbox) -> None:
    plan = await think_up(Scripted())
    reply = await RECIPE.write_program(plan, None, FIRST, cast(ModelSession, Scripted()))
    wanting = plan.model_copy(update={"brief": plan.brief.model_copy(update={"user_side": True})})
    with pytest.raises(BuildError, match="user's alone"):
        assemble_environment(wanting, reply, cast(ModelSession, Scripted()))


@pytest.mark.long
async def test_the_agent_cannot_do_what_is_the_users(finished: Settings, jail: Sandbox) -> None:
    scenario, environment = pick_shared(finished)
    alone = [call.model_copy(update={"actor": "agent"}) for call in scenario.oracle]
    asked, tried = (
        await try_calls(scenario, environment, jail, scenario.oracle),
        await try_calls(scenario, environment, jail, alone),
    )
    assert [
        one.code
        for one, call in zip(tried.replies, scenario.oracle, strict=True)
        if call.actor == "user"
    ] == ["not_allowed"] * sum(call.actor == "user" for call in scenario.oracle)
    left_out = await try_calls(
        scenario, environment, jail, [call for call in scenario.oracle if call.actor == "agent"]
    )
    assert [one.verdict.outcome for one in (asked, tried, left_out)] == ["pass", "fail", "fail"]


@pytest.mark.long
def test_a_bundle_plays_the_user_who_acts(finished: Settings) -> None:
    scenario, environment = pick_shared(finished)
    deeds = list_deeds(scenario.oracle)
    folder = next(Path(finished.bundles).rglob(f"{environment.id}/bundle.json")).parent
    for asks in (True, False):
        with Bundle(folder) as bundle:
            episode = bundle.begin(f"{scenario.number:03d}", form="conversation")
            for call in scenario.oracle:
                if call.actor == "agent":
                    assert episode.call(call.name, call.arguments)["ok"] or not asks
                elif asks:
                    answer = episode.say(
                        bid(next(name for name, deed in deeds.items() if deed == call), deeds)
                    )
                    assert answer is not None
                    assert "I have done it" in answer["text"]
            episode.say(scenario.say or "Done.")
            assert episode.score()["outcome"] == ("pass" if asks else "fail")
            episode.close()
