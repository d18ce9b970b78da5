"""The interface of a sampler: it returns a random chain, or a reason why there is none. The
validator judges every chain, so a sampler need not be right."""

import random
from typing import Protocol

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain


class Sampler(Protocol):
    """Draws chains from a graph."""

    name: str

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        """A chain, or the reason code if the sampler found none."""
        ...
