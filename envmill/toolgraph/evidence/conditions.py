"""Evidence `conditions`: what one tool makes true, another one needs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond

STRENGTH = 0.9


class ConditionEvidence:
    """Statements are compared letter by letter: whoever wrote them wrote both sides."""

    name = "conditions"

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond]:
        return self._find(scene)

    def _find(self, scene: EvidenceInput) -> Iterator[ToolBond]:
        makers = defaultdict[str, list[int]](list)
        for index, tool in enumerate(scene.tools):
            for statement in tool.ensures:
                makers[statement].append(index)
        for then, tool in enumerate(scene.tools):
            for statement in tool.requires:
                for first in makers[statement]:
                    if first != then:
                        yield ToolBond(first, then, STRENGTH, f"{self.name} ({statement})")
