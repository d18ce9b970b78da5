"""Chains of a finished run, put to the validator once more: each over a graph woven anew from its
own calls, played in the jail again."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.recipes.drafting.rechecking import PlayedChain, weave_seen
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.toolgraph.chain_player import read_reply
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.validity import WRITTEN, ChainFault, find_faults
from schemas.chain import Chain, Reason
from schemas.environment import Environment
from schemas.scenario import Draft, Scenario

_LOOSE = replace(WRITTEN, apart=True)
"""A request may want two things that have nothing to do with each other."""


@dataclass(frozen=True)
class Rechecked:
    """A chain that was kept."""

    draft: Draft
    chain: Chain
    graph: ToolGraph
    faults: list[ChainFault]


async def recheck_kept(
    settings: Settings, sandbox: Sandbox, run: str = "r1"
) -> AsyncIterator[Rechecked]:
    """Of every scenario that the run kept."""
    lake = Lake(settings.lake)
    homes = {one.id: one for one in lake.read(Environment, run)}
    drafts = {one.id: one for one in lake.read(Draft, run)}
    for scenario in lake.read(Scenario, run):
        draft = drafts[scenario.draft]
        assert draft.chain is not None, f"{scenario.id} came without its chain"
        graph = await weave_again(draft, homes[draft.environment], sandbox)
        yield Rechecked(draft, draft.chain, graph, find_faults(graph, draft.chain, _LOOSE))


async def weave_again(draft: Draft, environment: Environment, sandbox: Sandbox) -> ToolGraph:
    reset = Reset(draft.initial_state, draft.clock, draft.seed)
    _, *seen, end = await sandbox.play(
        Program.of(environment), [reset, *map(Invoke, draft.oracle), Look()]
    )
    words = "\n".join([draft.request, draft.user.opening, *map(str, draft.user.facts.values())])
    replies = [read_reply(one) for one in seen]
    return await weave_seen(
        environment,
        PlayedChain(draft.oracle, replies, (draft.initial_state, end.state or {}), words),
    )


def list_without(chain: Chain) -> Iterator[tuple[str, Chain]]:
    """Each reasoning node, and the chain without it."""
    for node in chain.nodes:
        if isinstance(node, Reason):
            yield (
                node.id,
                chain.model_copy(update={"nodes": [one for one in chain.nodes if one is not node]}),
            )


def find_underivable(one: Rechecked) -> Sequence[str]:
    """Reasoning nodes without which nothing is amiss: there must be none."""
    return [
        name
        for name, rest in list_without(one.chain)
        if not _blames(find_faults(one.graph, rest, _LOOSE), name)
    ]


def _blames(faults: Sequence[ChainFault], name: str) -> bool:
    return any(
        fault.code in ("not_there_yet", "unknown_node") and name in fault.detail.split()
        for fault in faults
    )
