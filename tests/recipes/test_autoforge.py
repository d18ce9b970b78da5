"""Recipe `autoforge` end to end: documents become typed tools, chains merged where they meet become
scenarios, every gate."""

import asyncio
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.base.settings import Settings
from envmill.kinds.authoring.repair import FIRST
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.recipes import autoforge
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.build import assemble_environment
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.offers import SIZES
from envmill.toolgraph.references import is_meeting
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.topology import weave_environment
from schemas.chain import ChainStep
from schemas.environment import Blueprint, Environment
from schemas.ledger import Evidence
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from tests.recipes.test_agentscaler import grow
from tests.recipes.test_awm import Scripted
from tests.recipes.walks import check_chains, check_walk, walk_recipe

SEED = 7
RECIPE = autoforge.make(read_themes())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    (run,) = asyncio.run(walk_recipe("autoforge", tmp_path_factory.mktemp("autoforge")))
    return run


@pytest.mark.long
def test_environments_and_scenarios_come_of_it(finished: Settings) -> None:
    check_walk([finished])
    lake = Lake(finished.lake)
    for plan in lake.read(Blueprint, "r1"):
        assert plan.brief.outline is not None
        assert plan.signatures.keys() == {tool.name for tool in plan.tools}, (
            "each tool says types on both sides"
        )
    assert all(tool.outputs for one in lake.read(Environment, "r1") for tool in one.tools)
    assert {one.licence for one in lake.read(Environment, "r1")} == {"Apache-2.0"}


@pytest.mark.long
def test_merged_chains_alone_are_offered_and_a_path_contains_its_own(finished: Settings) -> None:
    """The embedded author finds most of them infeasible: it asks for nothing that has to be worked
    out."""
    lake = Lake(finished.lake)
    offered = [row.finding for row in lake.read(Evidence, "r1") if row.gate.startswith("offer_")]
    assert {one["sampler"] for one in offered if "sampler" in one} == {"merge"}
    followed = [draft.overlap for draft in lake.read(Draft, "r1") if draft.overlap is not None]
    assert [one for one in followed if (one.sampler, one.share) != ("merge", 1.0)] == []


@pytest.mark.long
async def test_every_kept_graph_is_one_that_the_validator_passes(
    finished: Settings, jail: Sandbox
) -> None:
    await check_chains([finished], jail)


@pytest.mark.long
async def test_chains_are_merged_where_they_meet(finished: Settings) -> None:
    """Every chain that is drawn has a node that takes from two others, or one that two others take
    from; some have both."""
    (first, *_) = Lake(finished.lake).read(Environment, "r1")
    drawn = sample_chains(await weave_environment(first), SAMPLERS["merge"], 20, 7, SIZES).chains
    assert len(drawn) >= 6
    assert [chain for chain in drawn if not is_meeting(chain)] == []


@pytest.mark.long
def test_scenarios_are_kept(finished: Settings) -> None:
    drafts = {one.id: one for one in Lake(finished.lake).read(Draft, "r1")}
    kept = [drafts[one.draft] for one in Lake(finished.lake).read(Scenario, "r1")]
    assert all(one.chain is not None for one in kept)
    assert any(node.kind == "reason" for one in kept if one.chain for node in one.chain.nodes)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def built() -> Environment:
    """Of the first document that comes with the factory."""
    (seed, *_), models = (await grow())[1], cast(ModelSession, Scripted())
    plan = await RECIPE.think_up(seed, FIRST, models)
    return assemble_environment(plan, await RECIPE.write_program(plan, None, FIRST, models), models)


class Repeating(Scripted):
    """Begins every graph with a look-up that a later node makes as well."""

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        if prompt.name != "dag":
            return told
        steps = [node for node in told.chain.nodes if isinstance(node, ChainStep)]
        looked = next(step for step in steps if step.tool.startswith("list") and not step.arguments)
        again = looked.model_copy(update={"id": "s0"})
        return told.model_copy(
            update={"chain": told.chain.model_copy(update={"nodes": [again, *told.chain.nodes]})}
        )


async def pose(
    jail: Sandbox, environment: Environment, models: Scripted, number: int = 0, **config: Any
) -> Result:
    nothing: Any = None
    asked = RunConfig(
        recipe="autoforge", seed=SEED, polarities={"achieve": 1}, rehearse=False, **config
    )
    context = RunContext("r", asked, nothing, RECIPE, nothing, jail)
    return await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(environment, number)),
        context,
        cast(ModelSession, models),
    )


async def test_a_node_that_nobody_needs_is_sent_back(built: Environment, jail: Sandbox) -> None:
    stopped = (await pose(jail, built, Repeating())).stopped_by
    assert stopped is not None
    assert (stopped.outcome, stopped.reason) == ("dropped", "node_not_needed")
    assert "can still be derived" in stopped.detail
    others: list[tuple[Any, dict[str, Any]]] = [(Scripted(), {}), (Repeating(), {"dag": ()})]
    for models, config in others:
        assert (await pose(jail, built, models, **config)).stopped_by is None
