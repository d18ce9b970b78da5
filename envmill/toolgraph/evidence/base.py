"""The interface of evidence: a source reads tools and says which values one can supply to another,
and which tools belong together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from envmill.toolgraph.parameters import Parameters
from schemas.sketch import ToolSketch

CROWD = 48
"""Maximal number of links to one input: those of its own service first, the strongest first."""
Label = Literal["strong", "weak", "independent"]


@dataclass(frozen=True)
class EvidenceInput:
    """Input of a source of evidence."""

    tools: Sequence[ToolSketch]
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A possible supply of a value: an output or column, and the input that takes it."""

    giver: int
    taker: int
    strength: float
    """Up to 1."""
    evidence: str


@dataclass(frozen=True, slots=True)
class ToolBond:
    """Two tools that belong together, independent of values. A bond adds weight and supplies no
    argument."""

    first: int
    then: int
    strength: float
    """Up to 1."""
    evidence: str
    label: Label | None = None
    """A label that overrides the graph's own."""
    is_candidate: bool = False
    """Whether it is only a candidate. It helps to find domains, and ties two tools only if a judge
    labels them `strong` or `weak`."""


@dataclass(frozen=True)
class MissingEvidence:
    """A source of evidence that gave no result, with its reason. The graph counts it."""

    evidence: str
    reason: str
    count: int = 1


class EvidenceSource(Protocol):
    """Finds links and bonds in one way."""

    name: str

    async def find(self, scene: EvidenceInput) -> Iterable[ValueLink | ToolBond | MissingEvidence]:
        """All links and bonds that it finds. The graph refuses and counts impossible links."""
        ...
