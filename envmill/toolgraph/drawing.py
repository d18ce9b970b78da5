"""Drawing: repeated tries of a sampler. The validator judges every chain, and each unsuccessful try
is counted."""

import random
from collections import Counter
from dataclasses import dataclass, field

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.samplers.base import Sampler
from envmill.toolgraph.validity import LIMITS, ChainLimits, find_faults
from schemas.chain import Chain

TRIES = 20
"""Tries for each chain that was asked for."""


@dataclass
class Drawn:
    """Valid chains, all different, and counts of all other tries."""

    sampler: str
    chains: list[Chain] = field(default_factory=list[Chain])
    tries: int = 0
    given_up: Counter[str] = field(default_factory=Counter[str])
    """Reason → tries in which the sampler itself found no chain."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """First fault → chains that the validator refused."""
    repeated: int = 0
    """Number of chains that had been drawn before."""


def sample_chains(
    graph: ToolGraph, sampler: Sampler, count: int, seed: int = 0, limits: ChainLimits = LIMITS
) -> Drawn:
    """At most this many chains, as far as the tries suffice. The result depends only on graph and
    seed, not on the process."""
    drawn, known = Drawn(sampler.name), set[str]()
    while len(drawn.chains) < count and drawn.tries < TRIES * count:
        chance = random.Random(f"{seed} {sampler.name} {drawn.tries}")
        drawn.tries += 1
        chain = sampler.sample(graph, chance, limits)
        if isinstance(chain, str):
            drawn.given_up[chain] += 1
        elif faults := find_faults(graph, chain, limits):
            drawn.refused[faults[0].code] += 1
        elif (serialised := chain.model_dump_json()) in known:
            drawn.repeated += 1
        else:
            known.add(serialised)
            drawn.chains.append(chain)
    return drawn
