"""Evidence `likeness`: pairs of tools whose parameter lists have similar embeddings. They are
candidates; a judge decides on them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from envmill.models.embedding import EMBEDDERS, Vector
from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond
from envmill.toolgraph.parameters import ToolParameter

THRESHOLD = 0.6
MOST = 12
"""Maximal number of candidates of one tool, the nearest first: a tool that is similar to all others
tells nothing."""
BLOCK = 512
"""Tools compared at once: 512 × 10,000 cosines take 20 MB."""


class LikenessEvidence:
    """A candidate supplies no value. It helps to find domains. A walk follows it only if a judge
    calls it strong or weak."""

    name = "likeness"

    def __init__(self, embedder: str, threshold: float = THRESHOLD) -> None:
        self._embedder, self._threshold = embedder, threshold

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond]:
        cards = [render_parameters(scene, tool) for tool in range(len(scene.tools))]
        # In a thread: a model takes seconds, and the event loop has others to serve.
        placed = await asyncio.to_thread(EMBEDDERS[self._embedder], cards)
        name = f"{self.name} ({self._embedder})"
        pairs = {
            (min(pair), max(pair)): strength
            for *pair, strength in _find_near(placed, self._threshold)
        }
        return [
            ToolBond(first, then, strength, name, is_candidate=True)
            for (first, then), strength in sorted(pairs.items())
        ]


def render_parameters(scene: EvidenceInput, tool: int) -> str:
    """The text that is embedded: the tool's parameter list, then its outputs, each by its meaning,
    so that an `id` is the id of something."""
    sides = (scene.parameters.inputs[tool], scene.parameters.outputs[tool])
    return ", ".join(
        dict.fromkeys(_render(one) for side in sides for one in side if not one.is_control)
    )


def _render(parameter: ToolParameter) -> str:
    return " ".join(parameter.words)


def _find_near(placed: Sequence[Vector], threshold: float) -> Iterator[tuple[int, int, float]]:
    """The nearest tools of each tool, computed in blocks, one matrix product for each block."""
    import numpy  # late: a tenth of a second that only those pay who compare

    width = max(map(len, placed), default=0)
    if not width:
        return
    matrix = numpy.array([one or (0.0,) * width for one in placed], dtype=numpy.float32)
    for start in range(0, len(placed), BLOCK):
        for row, cosines in enumerate(matrix[start : start + BLOCK] @ matrix.T, start):
            near = [
                int(column)
                for column in numpy.argsort(-cosines, kind="stable")[: MOST + 1]
                if column != row
            ][:MOST]
            yield from (
                (row, column, round(min(1.0, float(cosines[column])), 4))
                for column in near
                if cosines[column] >= threshold
            )
