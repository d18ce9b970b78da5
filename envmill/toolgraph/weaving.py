"""Weaving: builds one graph from all evidence, and counts the links that it refuses."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from envmill.base.errors import SettingsError
from envmill.toolgraph.evidence.base import (
    CROWD,
    EvidenceInput,
    EvidenceSource,
    MissingEvidence,
    ToolBond,
    ValueLink,
)
from envmill.toolgraph.fitting import find_refusal
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import NOBODY, Parameters
from schemas.database import Table
from schemas.sketch import ToolSketch


async def weave(
    tools: Sequence[ToolSketch], evidence: Sequence[EvidenceSource], tables: Sequence[Table] = ()
) -> ToolGraph:
    """Graph of the tools, and of the tables whose records can be looked up."""
    twice = [name for name, count in Counter(tool.name for tool in tools).items() if count > 1]
    if twice:
        raise SettingsError(
            f"Two tools are named {twice[0]}. Names are what chains call tools by: put the "
            "service before them."
        )
    scene, refused = EvidenceInput(tools, Parameters(tools, tables)), Counter[str]()
    refused.update(
        {"beyond the most parameters": total}
        if (total := sum(scene.parameters.left_out.values()))
        else {}
    )
    links, bonds = (
        defaultdict[int, dict[int, ValueLink]](dict),
        defaultdict[tuple[int, int], list[ToolBond]](list),
    )
    for one in evidence:
        for found in await one.find(scene):
            if isinstance(found, MissingEvidence):
                refused[f"{found.evidence}: {found.reason}"] += found.count
            elif isinstance(found, ToolBond):
                bonds[found.first, found.then].append(found)
            else:
                _take(scene.parameters, found, links, refused)
    kept = {taker: _thin(scene, taker, found, refused) for taker, found in sorted(links.items())}
    return ToolGraph(
        tools,
        scene.parameters,
        kept,
        {pair: tuple(found) for pair, found in sorted(bonds.items())},
        refused,
    )


def _take(
    parameters: Parameters,
    link: ValueLink,
    links: dict[int, dict[int, ValueLink]],
    refused: Counter[str],
) -> None:
    reason = find_refusal(parameters, parameters.all[link.giver], parameters.all[link.taker])
    if reason:
        refused[reason] += 1
        return
    known = links[link.taker].get(link.giver)
    if known is None or known.strength < link.strength:
        links[link.taker][link.giver] = link


def _thin(
    scene: EvidenceInput, taker: int, found: dict[int, ValueLink], refused: Counter[str]
) -> tuple[ValueLink, ...]:
    all, tools = scene.parameters.all, scene.tools
    home = tools[all[taker].owner].service

    def is_stranger(link: ValueLink) -> bool:
        owner = all[link.giver].owner
        return owner != NOBODY and tools[owner].service != home

    ordered = sorted(
        found.values(), key=lambda link: (is_stranger(link), -link.strength, link.giver)
    )
    if len(ordered) > CROWD:
        refused["crowded"] += len(ordered) - CROWD
    return tuple(ordered[:CROWD])
