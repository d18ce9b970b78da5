"""Evidence `naming`: equal meaning by name and place in the schema, with a type that fits."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from envmill.toolgraph.evidence.base import CROWD, EvidenceInput, MissingEvidence, ValueLink
from envmill.toolgraph.parameters import NOBODY, ToolParameter
from envmill.toolgraph.words import COMMON, Words

REFERENCE, VALUE, BARE = 1.0, 0.6, 0.5
"""Strengths: of a reference; of any other value with the same meaning; of the same uncommon word
that describes another thing."""

SURVEYED = 400
"""Maximal number of givers of one meaning that are compared one by one."""
MOST_SAID = 8
"""Number of things that a word may describe before it counts as common: everything has a note, few
things have a sku."""


class NameEvidence:
    """`order_id` takes the `id` that `get_order` gives; `sku` takes any `sku`."""

    name = "naming"

    async def find(self, scene: EvidenceInput) -> Iterable[ValueLink | MissingEvidence]:
        return self._find(scene)

    def _find(self, scene: EvidenceInput) -> Iterator[ValueLink | MissingEvidence]:
        givers, bare = (
            defaultdict[Words, list[ToolParameter]](list),
            defaultdict[Words, list[ToolParameter]](list),
        )
        for giver in (
            one for one in scene.parameters.all if one.side != "input" and not one.is_control
        ):
            givers[giver.words].append(giver)
            if giver.is_one_word and giver.words[-1] not in COMMON:
                bare[giver.words[-1:]].append(giver)
        for taker in (
            one for side in scene.parameters.inputs for one in side if not one.is_control
        ):
            strength = REFERENCE if taker.is_reference else VALUE
            near = self._find_near(scene, taker, givers[taker.words])
            yield from (ValueLink(giver.index, taker.index, strength, self.name) for giver in near)
            if len(near) < len(givers[taker.words]):
                yield MissingEvidence(self.name, "crowded", len(givers[taker.words]) - len(near))
            if taker.is_one_word:
                yield from self._link_bare(taker, bare[taker.words[-1:]])

    def _find_near(
        self, scene: EvidenceInput, taker: ToolParameter, givers: list[ToolParameter]
    ) -> list[ToolParameter]:
        """Of many givers, those of the input's own service and the first of all others: the graph
        keeps no more, and refusing thousands takes seconds."""
        if len(givers) <= SURVEYED:
            return givers
        services = scene.parameters.services
        home = [
            one
            for one in givers
            if one.owner == NOBODY or services[one.owner] == services[taker.owner]
        ]
        return list({one.index: one for one in (*home, *givers[:CROWD])}.values())

    def _link_bare(
        self, taker: ToolParameter, givers: list[ToolParameter]
    ) -> Iterator[ValueLink | MissingEvidence]:
        if len({giver.words for giver in givers}) > MOST_SAID:
            yield MissingEvidence(self.name, "a word said of many things")
            return
        yield from (
            ValueLink(giver.index, taker.index, BARE, self.name)
            for giver in givers
            if giver.words != taker.words
        )
