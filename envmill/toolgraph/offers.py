"""Offers: sampled chains of an environment that were carried out, in the order in which authors are
offered them.

stored tests ─► graph ─► walks, samplers ─► the validator ─► rehearsed in the jail ─► offers; every chain that is not one is counted
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from envmill.sandbox import Program, Sandbox
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.experience import gather_experience, weave_experience
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.linking import list_link_kinds
from envmill.toolgraph.references import list_tools
from envmill.toolgraph.rehearsal import RehearsedChain, rehearse_chain
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.samplers.walk import retrace
from envmill.toolgraph.validity import ChainLimits, find_faults
from envmill.toolgraph.words import is_taking_back
from schemas.base import Json
from schemas.chain import Chain
from schemas.environment import Environment, Test

CHAINS, ALONE = 20, 60
"""Maximal number of chains that each sampler draws, and that a single sampler draws."""
WALK = "walk"
"""Name among the samplers for the walks of an environment's outline."""
ENOUGH, SPARE, MOST = 6, 2, 16
"""Number of chains that are offered: ENOUGH, or one for each place and SPARE more, but no more than
MOST."""
WALKS = 12
"""Maximal number of walks of an outline that are tried."""
SIZES = ChainLimits(least=2, most=6)
"""Number of steps of an offered chain: its author adds look-ups and may expand it."""
_WALKED = replace(SIZES, apart=True)
"""Limits of a walk that is given as names: no value need pass between its tools."""


@dataclass(frozen=True)
class ChainOffers:
    """Chains of one environment that authors may be offered."""

    chains: tuple[RehearsedChain, ...] = ()
    drawn: int = 0
    """Number of chains that were drawn."""
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reason → number of chains that are not offered."""

    def list_for(self, rank: int, sharing: int) -> tuple[RehearsedChain, ...]:
        """Chains for place `rank` of `sharing` places, in the order of offers: first those that no
        other place gets while it has others, then the rest."""
        if not self.chains:
            return ()
        first = rank % len(self.chains)
        own = self.chains[first :: max(sharing, 1)]
        return (
            *own,
            *(one for one in (*self.chains[first + 1 :], *self.chains[:first]) if one not in own),
        )


async def find_offers(
    environment: Environment,
    tests: Sequence[Test],
    rows: Mapping[str, Json],
    samplers: Sequence[str],
    sandbox: Sandbox,
    *,
    results: bool = False,
    sharing: int = 0,
) -> ChainOffers:
    """The chains that can be offered. The same environment and tests give the same result, so a
    scenario that is made again gets the same chain. `results`: chains may use values that only the
    path makes, such as the id of a new record. `sharing`: number of places."""
    experience = await gather_experience(environment, tests, rows, sandbox)
    graph = await weave_experience(environment, experience)
    program, refused, offered, doubtful = (
        Program.of(environment),
        Counter[str](),
        list[RehearsedChain](),
        list[RehearsedChain](),
    )
    loose = {
        (table.name, column.name)
        for table in environment.tables
        for column in table.columns
        if column.policy == "exempt"
    }
    effects = {tool.name: tool.effect for tool in environment.tools}
    enough = min(max(ENOUGH, sharing + SPARE), MOST)
    for chain in _alternate(list(_list_drawn(environment, graph, samplers, refused)), effects):
        if len(offered) == enough:
            break
        if not any(effects.get(tool) == "change" for tool in list_tools(chain)):
            refused["changes_nothing"] += 1
            continue
        tried = await rehearse_chain(chain, program, experience, sandbox, environment.id, loose)
        if isinstance(tried, tuple):
            refused[tried[0]] += 1
        elif tried.new and not results:
            refused["needs_result"] += 1
        else:
            (doubtful if tried.undoing or _takes_back(tried) else offered).append(tried)
    spare = enough - len(offered)
    refused.update({"undone_perhaps": len(doubtful[spare:])})
    offered += doubtful[:spare]
    return ChainOffers(
        tuple(offered),
        len(offered) + refused.total(),
        {name: times for name, times in refused.most_common() if times},
    )


def _takes_back(tried: RehearsedChain) -> bool:
    """Whether a step seems to end what an earlier one made, such as a booking that is cancelled at
    once. Only the verb says so, so this does not refuse the chain: it is offered after all
    others."""
    return any(
        step in tried.new and is_taking_back(call.name)
        for call, step in zip(tried.calls, tried.steps, strict=True)
    )


def _list_drawn(
    environment: Environment, graph: ToolGraph, samplers: Sequence[str], refused: Counter[str]
) -> Iterator[Chain]:
    """Walks of the outline, then each sampler in turn, without duplicates."""
    seed, known = int(environment.id.rpartition("_")[2][:8], 16), set[tuple[str, ...]]()
    outline, most = environment.brief.outline, CHAINS if len(samplers) > 1 else ALONE
    walked = [
        _retrace(graph, walk, f"{seed} {walk}")
        for walk in (outline.walks[:WALKS] if outline and WALK in samplers else ())
    ]
    refused.update(one for one in walked if isinstance(one, str))
    found = [[one for one in walked if isinstance(one, Chain)]]
    found += [
        sample_chains(graph, SAMPLERS[name], most, seed, SIZES).chains
        for name in samplers
        if name != WALK
    ]
    for place in range(max(map(len, found), default=0)):
        for chains in found:
            if place < len(chains) and (tools := tuple(list_tools(chains[place]))) not in known:
                known.add(tools)
                yield chains[place]


def _alternate(drawn: Sequence[Chain], effects: Mapping[str, str]) -> Iterator[Chain]:
    """Every chain once, alternating between the one with the most kinds of links and the next as
    drawn. Chains that combine lists, picks and results are rare, and would otherwise come late."""
    linked = sorted(drawn, key=lambda chain: -len(list_link_kinds(chain, effects)))
    told = [one for pair in zip(linked, drawn, strict=True) for one in pair]
    yield from {id(chain): chain for chain in told}.values()


def _retrace(graph: ToolGraph, walk: Sequence[str], seed: str) -> Chain | str:
    chain = retrace(graph, walk, random.Random(seed))
    return (
        chain
        if isinstance(chain, str) or not find_faults(graph, chain, _WALKED)
        else "walk_refused"
    )
