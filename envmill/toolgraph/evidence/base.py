"""What evidence is: something that looks at tools and says which value could go where, or which
tool goes with which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from envmill.toolgraph.parameters import Parameters
from schemas.sketch import ToolSketch

CROWD = 48
"""Links into one input that are kept: those of its own service, and the strongest, first."""
Label = Literal["strong", "weak", "independent"]


@dataclass(frozen=True)
class EvidenceInput:
    """What evidence looks at."""

    tools: Sequence[ToolSketch]
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A value that could be given on: an output or column, and the input that takes it."""

    giver: int
    taker: int
    strength: float
    """Up to 1."""
    evidence: str


@dataclass(frozen=True, slots=True)
class ToolBond:
    """Two tools that belong together, whatever values they have. It weighs; it supplies no
    argument."""

    first: int
    then: int
    strength: float
    """Up to 1."""
    evidence: str
    label: Label | None = None
    """A judgement that stands above what the graph would say itself."""
    is_candidate: bool = False
    """Whether a judge decides on it: it parts domains, and binds two tools only under a label
    `strong` or `weak`."""


@dataclass(frozen=True)
class MissingEvidence:
    """Evidence that should have been heard and was not, with its reason: the graph counts it."""

    evidence: str
    reason: str
    count: int = 1


class EvidenceSource(Protocol):
    """One way of knowing."""

    name: str

    async def find(self, scene: EvidenceInput) -> Iterable[ValueLink | ToolBond | MissingEvidence]:
        """All it knows. Links that cannot be are refused by the graph, and counted there."""
        ...
