"""Topology: the graph of a built environment by the types its tools say, a chain drawn from it, and
any chain over it judged.

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
"""Chains of one environment, taken in turn."""
SAMPLED = ChainLimits(least=2, most=8)
"""Sizes of a chain that is drawn."""


@dataclass(frozen=True)
class ChainRefusal:
    """Why a chain is refused."""

    code: str
    words: str


async def weave_environment(environment: Environment) -> ToolGraph:
    """Its tools as agent and user may call them, for a path takes both; and its tables' columns."""
    return await weave(
        sketch_environment(environment, {}, ACTORS),
        [NameEvidence(), TableEvidence()],
        environment.tables,
    )


def sample_for(
    environment: Environment, graph: ToolGraph, number: int, sampler: str = "backward"
) -> Chain | None:
    """The chain of the n-th scenario; none where the graph has none."""
    chains = _sample_chains(_Key(environment.id, graph), sampler)
    return chains[number % len(chains)] if chains else None


@dataclass(frozen=True)
class _Key:
    """A graph by the id of its environment."""

    id: str
    graph: ToolGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


@lru_cache(maxsize=32)
def _sample_chains(key: _Key, sampler: str) -> list[Chain]:
    """By the environment's id alone, so that a scenario that is asked for again gets the same."""
    return sample_chains(
        key.graph, SAMPLERS[sampler], CHAINS, int(key.id.rpartition("_")[2][:8], 16), SAMPLED
    ).chains


async def judge_chain(environment: Environment, chain: Chain) -> ChainRefusal | None:
    """The same for whoever has no graph; nothing where the tools say no types, for then nobody
    knows what they reply."""
    if not all(tool.outputs for tool in environment.tools):
        return None
    return find_chain_fault(
        await weave_environment(environment), chain, limit_written(environment.brief)
    )


def find_chain_fault(
    graph: ToolGraph, chain: Chain, limits: ChainLimits = WRITTEN
) -> ChainRefusal | None:
    """Why a chain that an author wrote cannot be carried out; nothing for one that can. The tools
    decide what only names and types tell."""
    faults = [fault for fault in find_faults(graph, chain, limits) if fault.code not in SETTLED]
    if not faults:
        return None
    told = [
        f"{fault.node or 'the chain'}: {fault.code}{f' ({fault.detail})' if fault.detail else ''}"
        for fault in faults[:5]
    ]
    return ChainRefusal(faults[0].code, f"The chain does not hold: {'; '.join(told)}.")
