"""Evidence `sharing`: tools of one service that declare no outputs, and that are about the same
thing or select the same thing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond
from envmill.toolgraph.words import Words

ABOUT, SELECTED = 0.6, 0.3
"""Strengths: both are about the same thing; only one of them selects it."""
MOST = 40
"""Maximal number of tools that are bound over one thing: a thing that every tool mentions tells
nothing."""


class SharingEvidence:
    """For tool lists of servers, most of which describe only inputs. Without this evidence each of
    their tools would be isolated."""

    name = "sharing"

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond]:
        return self._find(scene)

    def _find(self, scene: EvidenceInput) -> Iterator[ToolBond]:
        speaking = defaultdict[tuple[str, Words], list[int]](list)
        for index, tool in enumerate(scene.tools):
            if not tool.outputs:
                selected = {
                    one.words[:-1] for one in scene.parameters.inputs[index] if one.is_reference
                }
                for thing in sorted({scene.parameters.entities[index], *selected} - {()}):
                    speaking[tool.service, thing].append(index)
        for (_, thing), tools in speaking.items():
            for place, first in enumerate(tools if len(tools) <= MOST else ()):
                for then in tools[place + 1 :]:
                    same = scene.parameters.entities[first] == scene.parameters.entities[then]
                    yield ToolBond(
                        first, then, ABOUT if same else SELECTED, f"{self.name} ({' '.join(thing)})"
                    )
