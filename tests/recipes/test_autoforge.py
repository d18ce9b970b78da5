"""Recipe `autoforge` end to end: documents become typed tools, chains merged where they meet become scenarios, every gate."""

import asyncio

import pytest

from envmill.lake.lake import Lake
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.offers import SIZES
from envmill.toolgraph.references import is_meeting
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.topology import weave_environment
from schemas.environment import Blueprint, Environment
from schemas.scenario import Draft, Scenario
from tests.recipes.walks import check_chains, check_walk, walk_recipe


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    (run,) = asyncio.run(walk_recipe("autoforge", tmp_path_factory.mktemp("autoforge")))
    return run


def test_environments_and_scenarios_come_of_it(finished: Settings) -> None:
    check_walk([finished])
    lake = Lake(finished.lake)
    for plan in lake.read(Blueprint, "r1"):
        assert plan.brief.outline is not None
        assert plan.signatures.keys() == {tool.name for tool in plan.tools}, "each tool says types on both sides"
    assert all(tool.outputs for one in lake.read(Environment, "r1") for tool in one.tools)
    assert {one.licence for one in lake.read(Environment, "r1")} == {"Apache-2.0"}


def test_a_path_contains_the_merged_chain_that_was_offered(finished: Settings) -> None:
    offered = [one for one in Lake(finished.lake).read(Draft, "r1") if one.overlap is not None]
    assert offered
    for draft in offered:
        assert draft.overlap is not None
        assert (draft.overlap.sampler, draft.overlap.share) == ("merge", 1.0)


async def test_every_kept_graph_is_one_that_the_validator_passes(finished: Settings, jail: Sandbox) -> None:
    await check_chains([finished], jail)


async def test_chains_are_merged_where_they_meet(finished: Settings) -> None:
    """Every chain that is drawn has a node that takes from two others, or one that two others take from; some have both."""
    (first, *_) = Lake(finished.lake).read(Environment, "r1")
    drawn = sample_chains(await weave_environment(first), SAMPLERS["merge"], 20, 7, SIZES).chains
    assert len(drawn) >= 6
    assert [chain for chain in drawn if not is_meeting(chain)] == []


def test_scenarios_are_kept(finished: Settings) -> None:
    drafts = {one.id: one for one in Lake(finished.lake).read(Draft, "r1")}
    kept = [drafts[one.draft] for one in Lake(finished.lake).read(Scenario, "r1")]
    assert all(one.chain is not None for one in kept)
    assert any(node.kind == "reason" for one in kept if one.chain for node in one.chain.nodes)
