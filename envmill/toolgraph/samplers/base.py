"""What a sampler is: chance in, one chain out, or why there is none. It is trusted with nothing:
the validator judges all it makes."""

import random
from typing import Protocol

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain


class Sampler(Protocol):
    """One way through a graph."""

    name: str

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        """A chain, or the reason code of giving up."""
        ...
