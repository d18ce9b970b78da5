"""Evidence `likeness`: names, types and descriptions placed by an embedder, and near each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from envmill.models.embed import Embeddings
from envmill.models.embedders.base import Embedding
from envmill.toolgraph.evidence.base import EvidenceInput, ValueLink
from envmill.toolgraph.fitting import find_refusal
from envmill.toolgraph.parameters import ToolParameter

THRESHOLD = 0.85
WORDS = 24
"""Of a description: what follows tells of formats and limits."""
BLOCK = 512
"""Inputs compared at once: 512 × 10,000 cosines are 20 MB."""


class SimilarityEvidence:
    """Each text is placed once and compared with every other: what is equal by name is left to `naming`."""

    name = "likeness"

    def __init__(self, embeddings: Embeddings, threshold: float = THRESHOLD) -> None:
        self._embeddings, self._threshold = embeddings, threshold

    async def find(self, scene: EvidenceInput) -> Iterable[ValueLink]:
        takers, givers = _group(scene, ("input",)), _group(scene, ("output", "column"))
        placed = await self._embeddings.embed([*takers, *givers], "toolgraph", "parameters")
        return self._compare(scene, takers, givers, placed)

    def _compare(
        self,
        scene: EvidenceInput,
        takers: dict[str, list[ToolParameter]],
        givers: dict[str, list[ToolParameter]],
        placed: Sequence[Embedding],
    ) -> Iterator[ValueLink]:
        spoken, told = list(takers.values()), list(givers.values())
        name = f"{self.name} ({placed[0].label})" if placed else self.name
        for row, column, strength in _find_near(placed[: len(spoken)], placed[len(spoken) :], self._threshold):
            for taker in spoken[row]:
                for giver in told[column]:
                    if giver.words != taker.words and not find_refusal(scene.parameters, giver, taker):
                        yield ValueLink(giver.index, taker.index, strength, name)


def render(parameter: ToolParameter) -> str:
    """What is placed: words, type, and how the description begins."""
    return f"{' '.join(parameter.words)} ({parameter.type}): {' '.join(parameter.description.split()[:WORDS])}"


def _group(scene: EvidenceInput, sides: tuple[str, ...]) -> dict[str, list[ToolParameter]]:
    groups = defaultdict[str, list[ToolParameter]](list)
    for one in scene.parameters.all:
        if one.side in sides and one.type in ("string", "integer", "number") and not one.is_control:
            groups[render(one)].append(one)
    return dict(groups)


def _find_near(takers: Sequence[Embedding], givers: Sequence[Embedding], threshold: float) -> Iterator[tuple[int, int, float]]:
    """In blocks, as one product of matrices each."""
    import numpy  # late: a tenth of a second that only those pay who compare

    if not takers or not givers:
        return
    width = max((len(one.vector) for one in (*takers, *givers)), default=0)
    empty = (0.0,) * width
    right = numpy.array([one.vector or empty for one in givers], dtype=numpy.float32).T
    for start in range(0, len(takers), BLOCK):
        left = numpy.array([one.vector or empty for one in takers[start : start + BLOCK]], dtype=numpy.float32)
        cosines = left @ right
        for row, column in zip(*numpy.nonzero(cosines >= threshold), strict=True):
            yield start + int(row), int(column), round(min(1.0, float(cosines[row, column])), 4)
