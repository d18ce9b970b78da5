"""Topology: the graph of a built environment from its declared types, chains sampled from it, and
judgements of chains over it.

tools with types ─► graph: names, tables ─► a sampler ─► the validator ─► a chain for each scenario
a chain that somebody wrote ──────────────────────────────────► the validator ─► nothing, or why it is refused
"""

from dataclasses import dataclass
from functools import lru_cache

from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.sketching import ACTORS, sketch_environment
from envmill.toolgraph.validity import SETTLED, WRITTEN, ChainLimits, find_faults, limit_written
from envmill.toolgraph.weaving import weave
from schemas.chain import Chain
from schemas.environment import Environment

CHAINS = 12
"""Number of chains of one environment; scenarios take them in turn."""
SAMPLED = ChainLimits(least=2, most=8)
"""Sizes of a sampled chain."""


@dataclass(frozen=True)
class ChainRefusal:
    """Why a chain is refused."""

    code: str
    words: str


async def weave_environment(environment: Environment) -> ToolGraph:
    """Graph of the tools of agent and user, because a path takes both, and of the tables'
    columns."""
    return await weave(
        sketch_environment(environment, {}, ACTORS),
        [NameEvidence(), TableEvidence()],
        environment.tables,
    )


def sample_for(
    environment: Environment, graph: ToolGraph, number: int, sampler: str = "backward"
) -> Chain | None:
    """The chain of the n-th scenario; none if the graph yields none."""
    chains = _sample_chains(_Key(environment.id, graph), sampler)
    return chains[number % len(chains)] if chains else None


@dataclass(frozen=True)
class _Key:
    """Cache key: the id of the graph's environment."""

    id: str
    graph: ToolGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


@lru_cache(maxsize=32)
def _sample_chains(key: _Key, sampler: str) -> list[Chain]:
    """Seeded by the environment's id alone, so that a scenario that is made again gets the same
    chain."""
    return sample_chains(
        key.graph, SAMPLERS[sampler], CHAINS, int(key.id.rpartition("_")[2][:8], 16), SAMPLED
    ).chains


async def judge_chain(environment: Environment, chain: Chain) -> ChainRefusal | None:
    """Judge a chain without a graph at hand. Without declared types the replies are unknown, and
    nothing is refused."""
    if not all(tool.outputs for tool in environment.tools):
        return None
    return find_chain_fault(
        await weave_environment(environment), chain, limit_written(environment.brief)
    )


def find_chain_fault(
    graph: ToolGraph, chain: Chain, limits: ChainLimits = WRITTEN
) -> ChainRefusal | None:
    """Reason why a written chain cannot be carried out; None if it can. Checks that names and types
    alone do not decide are left to the tools."""
    faults = [fault for fault in find_faults(graph, chain, limits) if fault.code not in SETTLED]
    if not faults:
        return None
    told = [
        f"{fault.node or 'the chain'}: {fault.code}{f' ({fault.detail})' if fault.detail else ''}"
        for fault in faults[:5]
    ]
    return ChainRefusal(faults[0].code, f"The chain does not hold: {'; '.join(told)}.")
