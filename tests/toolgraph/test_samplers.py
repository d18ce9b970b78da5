"""Samplers: all of them make chains, all chains hold, and every try is accounted for."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.linking import list_link_kinds
from envmill.toolgraph.references import list_references, walk_nodes
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.validity import ChainLimits, find_faults
from envmill.toolgraph.weaving import weave
from envmill.toolgraph.words import FREE_TEXTS
from schemas.chain import Branch, Chain, ChainStep, FromItem, FromNode, Loop, Node, Reason
from tests.bench.toolgraph import compose_tools
from tests.soak import count

PLACES = 20
"""Things in the composed set: five tools each."""
COUNT = count(60, 1_500)


@pytest.fixture(scope="module")
def graph() -> ToolGraph:
    """A hundred tools, each thing with two others that it refers to."""
    return asyncio.run(weave(compose_tools(5 * PLACES), [NameEvidence(), TableEvidence()]))


@pytest.mark.soak(area="sql")
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_makes_chains_that_hold(graph: ToolGraph, name: str) -> None:
    drawn = sample_chains(graph, SAMPLERS[name], COUNT)
    assert (SAMPLERS[name].name, len(drawn.chains)) == (name, COUNT)
    assert all(not find_faults(graph, chain) for chain in drawn.chains)
    assert (
        drawn.tries
        == len(drawn.chains) + drawn.repeated + drawn.given_up.total() + drawn.refused.total()
    )
    assert len({chain.model_dump_json() for chain in drawn.chains}) == COUNT


@pytest.mark.soak(area="sql")
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_chain_with_a_piece_missing_is_refused(graph: ToolGraph, name: str) -> None:
    """Every thought, and every step that another one outside of it rests on, taken out of every
    chain."""
    for chain in sample_chains(graph, SAMPLERS[name], COUNT).chains:
        walked = list(walk_nodes(chain.nodes))
        relied = {id for one in walked for id in list_references(one.node) if id not in one.around}
        for id in sorted({one.node.id for one in walked if isinstance(one.node, Reason)} | relied):
            assert find_faults(
                graph, chain.model_copy(update={"nodes": without(chain.nodes, id)})
            ), (id, chain)


def without(nodes: list[Node], id: str) -> list[Node]:
    left = [node for node in nodes if node.id != id]
    parts = {"each": ("body",), "if": ("then", "otherwise")}
    return [
        node.model_copy(
            update={part: without(getattr(node, part), id) for part in parts.get(node.kind, ())}
        )
        for node in left
    ]


@pytest.mark.soak(area="sql")
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_chain_in_the_other_order_is_refused(graph: ToolGraph, name: str) -> None:
    for chain in sample_chains(graph, SAMPLERS[name], COUNT).chains:
        assert find_faults(graph, chain.model_copy(update={"nodes": chain.nodes[::-1]})), chain


def test_the_same_seed_gives_the_same(shop: ToolGraph) -> None:
    one, other, third = (
        sample_chains(shop, SAMPLERS["backward"], 5, seed).chains for seed in (1, 1, 2)
    )
    assert one == other != third


def kinds(chain: Chain) -> Iterator[str]:
    yield from (one.node.kind for one in walk_nodes(chain.nodes))


def test_what_each_is_for(shop: ToolGraph) -> None:
    merged, programs, linked = (
        sample_chains(shop, SAMPLERS[name], 30).chains for name in ("merge", "program", "linked")
    )
    assert all("reason" in kinds(chain) for chain in merged)
    assert {node.rule for chain in merged for node in chain.nodes if isinstance(node, Reason)} >= {
        "choose",
        "total",
        "compose",
    }
    assert all(any(isinstance(node, Loop) for node in chain.nodes) for chain in programs)
    assert any(
        isinstance(one.node, Branch) for chain in programs for one in walk_nodes(chain.nodes)
    )
    effects = {
        tool.name: "query" if tool.name.startswith(("get", "list", "find", "search")) else "change"
        for tool in shop.tools
    }
    found = [set(list_link_kinds(chain, effects)) for chain in linked]
    assert len(found) > 5
    assert all("list" in kinds for kinds in found)
    assert sum(kinds == {"list", "pick", "result"} for kinds in found) > 3


def test_a_text_made_of_others_goes_into_free_texts_alone(shop: ToolGraph) -> None:
    """No bucket, type or address is made of two other texts."""
    for chain in sample_chains(shop, SAMPLERS["merge"], 60).chains:
        made = {
            node.id for node in chain.nodes if isinstance(node, Reason) and node.rule == "compose"
        }
        steps = [node for node in chain.nodes if isinstance(node, ChainStep)]
        taken = [
            name
            for step in steps
            for name, source in step.arguments.items()
            if isinstance(source, FromNode) and source.node in made
        ]
        assert {name.rpartition("_")[2] for name in taken} <= FREE_TEXTS


def test_no_condition_compares_an_id(shop: ToolGraph) -> None:
    """Nobody can say one. A status and a total are compared."""
    drawn = sample_chains(shop, SAMPLERS["program"], 100).chains
    conditions = [
        one.node.left
        for chain in drawn
        for one in walk_nodes(chain.nodes)
        if isinstance(one.node, Branch)
    ]
    paths = {left.path for left in conditions if isinstance(left, FromItem)}
    assert {path for path in paths if path.endswith("id")} == set()
    assert {"orders[].status", "orders[].total"} <= paths


def test_what_a_sampler_invents_is_refused_and_counted(shop: ToolGraph) -> None:
    """A sampler that hears wrongly where values come from, now and then."""

    class Careless:
        name = "careless"

        def sample(
            self, graph: ToolGraph, chance: random.Random, limits: ChainLimits
        ) -> Chain | str:
            chain = SAMPLERS["backward"].sample(graph, chance, limits)
            return chain if isinstance(chain, str) or chance.random() < 0.5 else _spoil(chain)

    drawn = sample_chains(shop, Careless(), 20)
    assert len(drawn.chains) == 20
    assert set(drawn.refused) <= {"no_output", "gone"}
    assert drawn.refused["no_output"] >= 5


def _spoil(chain: Chain) -> Chain:
    last = next(node for node in reversed(chain.nodes) if isinstance(node, ChainStep))
    wrong = {path: FromNode(node="s1", path="nowhere") for path in last.arguments}
    spoiled = last.model_copy(update={"arguments": wrong})
    return chain.model_copy(
        update={"nodes": [spoiled if node is last else node for node in chain.nodes]}
    )


@pytest.mark.parametrize("name", SAMPLERS)
async def test_a_graph_without_a_way_gives_reasons(name: str) -> None:
    drawn = sample_chains(await weave([], []), SAMPLERS[name], 3)
    assert (drawn.chains, drawn.given_up.total()) == ([], drawn.tries)
