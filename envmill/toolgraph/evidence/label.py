"""Evidence `label`: a model's judgement of how tools rest on each other: strong, weak, independent."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from envmill.errors import BadReply
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.toolgraph.evidence.base import EvidenceInput, Label, MissingEvidence, ToolBond
from envmill.toolgraph.parameters import ToolParameter
from schemas.relation import RelationInput, RelationReply, ToolCard

PROMPT = Prompt.load(Path(__file__).parents[1] / "prompts" / "label.md", RelationInput, RelationReply)
BATCH = 24
"""Other tools judged by one call."""
SHOWN = 24
"""Values of one side of a tool that are shown."""
STRENGTHS: dict[Label, float] = {"strong": 1.0, "weak": 0.5, "independent": 0.0}


class LabelEvidence:
    """Pairs within one service; a judgement bonds two tools and stands above what the graph would say, and supplies no value."""

    name = "label"

    def __init__(self, models: ModelSession) -> None:
        self._account = models

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond | MissingEvidence]:
        asked = [self._ask(scene, then, batch) for then, batch in _list_batches(scene)]
        return [bond for found in await asyncio.gather(*asked) for bond in found]

    async def _ask(self, scene: EvidenceInput, then: int, batch: list[int]) -> list[ToolBond | MissingEvidence]:
        inputs = RelationInput(tool=make_card(scene, then), others=[make_card(scene, one) for one in batch])
        try:
            reply = await self._account.ask(PROMPT, inputs, RelationReply)
        except BadReply:
            return [MissingEvidence(self.name, "no usable reply")]
        return list(_read(scene, then, batch, reply))


def make_card(scene: EvidenceInput, tool: int) -> ToolCard:
    """What a judge is shown of a tool."""
    inputs, outputs = scene.parameters.inputs[tool], scene.parameters.outputs[tool]
    sketch = scene.tools[tool]
    return ToolCard(name=sketch.name, description=sketch.description, inputs=_render(inputs), outputs=_render(outputs))


def _render(side: list[ToolParameter]) -> list[str]:
    return list(dict.fromkeys(f"{' '.join(one.words)} ({one.type or 'any'})" for one in side))[:SHOWN]


def _list_batches(scene: EvidenceInput) -> Iterator[tuple[int, list[int]]]:
    homes = defaultdict[str, list[int]](list)
    for index, tool in enumerate(scene.tools):
        homes[tool.service].append(index)
    for then, tool in enumerate(scene.tools):
        others = [one for one in homes[tool.service] if one != then]
        yield from ((then, others[start : start + BATCH]) for start in range(0, len(others), BATCH))


def _read(scene: EvidenceInput, then: int, batch: list[int], reply: RelationReply) -> Iterator[ToolBond | MissingEvidence]:
    names = {scene.tools[index].name: index for index in batch}
    judged: dict[str, Label] = {one.other: one.label for one in reply.relations}
    for name in sorted(judged.keys() - names.keys()):
        yield MissingEvidence(
            "label", f"names {name}, which was not asked about" if len(name) <= 64 else "names a tool that was not asked about"
        )
    for name, first in names.items():
        if name not in judged:
            yield MissingEvidence("label", "left out a tool")
        else:
            yield ToolBond(first, then, STRENGTHS[judged[name]], "label", judged[name])
