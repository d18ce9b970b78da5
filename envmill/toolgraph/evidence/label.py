"""Evidence `label`: a model's judgement of how much tools depend on each other: strong, weak,
independent."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from envmill.base.errors import BadReply
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.toolgraph.evidence.base import EvidenceInput, Label, MissingEvidence, ToolBond
from envmill.toolgraph.parameters import ToolParameter
from schemas.relation import RelationInput, RelationReply, ToolCard

PROMPT = Prompt.load(
    Path(__file__).parents[1] / "prompts" / "label.md", RelationInput, RelationReply
)
BATCH = 25
"""Maximal number of a service's tools that a call shows. All calls show the same tools, so that
their prompts share a prefix."""
SHOWN = 24
"""Maximal number of values on one side of a tool that are shown."""
STRENGTHS: dict[Label, float] = {"strong": 1.0, "weak": 0.5, "independent": 0.0}


class LabelEvidence:
    """Judges pairs within one service. A judgement is a bond that overrides the graph's own label,
    and supplies no value."""

    name = "label"

    def __init__(self, models: ModelSession) -> None:
        self._account = models

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond | MissingEvidence]:
        asked = [self._ask(scene, then, batch) for then, batch in _list_batches(scene)]
        return [bond for found in await asyncio.gather(*asked) for bond in found]

    async def _ask(
        self, scene: EvidenceInput, then: int, batch: list[int]
    ) -> list[ToolBond | MissingEvidence]:
        inputs = RelationInput(
            tool=make_card(scene, then), others=[make_card(scene, one) for one in batch]
        )
        try:
            reply = await self._account.ask(PROMPT, inputs, RelationReply)
        except BadReply:
            return [MissingEvidence(self.name, "no usable reply")]
        return list(_read(scene, then, batch, reply))


def make_card(scene: EvidenceInput, tool: int) -> ToolCard:
    """The description of a tool for the judge."""
    inputs, outputs = scene.parameters.inputs[tool], scene.parameters.outputs[tool]
    sketch = scene.tools[tool]
    return ToolCard(
        name=sketch.name,
        description=sketch.description,
        inputs=_render(inputs),
        outputs=_render(outputs),
    )


def _render(side: list[ToolParameter]) -> list[str]:
    return list(dict.fromkeys(f"{' '.join(one.words)} ({one.type or 'any'})" for one in side))[
        :SHOWN
    ]


def _list_batches(scene: EvidenceInput) -> Iterator[tuple[int, list[int]]]:
    homes = defaultdict[str, list[int]](list)
    for index, tool in enumerate(scene.tools):
        homes[tool.service].append(index)
    for then, tool in enumerate(scene.tools):
        home = homes[tool.service]
        batches = [home[start : start + BATCH] for start in range(0, len(home), BATCH)]
        yield from ((then, batch) for batch in batches if batch != [then])


def _read(
    scene: EvidenceInput, then: int, batch: list[int], reply: RelationReply
) -> Iterator[ToolBond | MissingEvidence]:
    names = {scene.tools[index].name: index for index in batch if index != then}
    judged: dict[str, Label] = {
        one.other: one.label for one in reply.relations if one.other != scene.tools[then].name
    }
    for name in sorted(judged.keys() - names.keys()):
        yield MissingEvidence(
            "label",
            f"names {name}, which was not asked about"
            if len(name) <= 64
            else "names a tool that was not asked about",
        )
    for name, first in names.items():
        if name not in judged:
            yield MissingEvidence("label", "left out a tool")
        else:
            yield ToolBond(first, then, STRENGTHS[judged[name]], "label", judged[name])
