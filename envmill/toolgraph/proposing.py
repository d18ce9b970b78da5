"""Proposals: divide a large set of tools into domains, each with the tables of its tools and
directed walks through them.

sketches ─► graph ─► domains ─► tables, tool → tables ─► graph of the domain alone ─► walks, each judged
"""

from collections.abc import Sequence

from envmill.toolgraph.audit import audit_graph
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.base import EvidenceSource
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.sharing import SharingEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.partition import ToolGroup, find_domains
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.tabling import Tabled, propose_tables
from envmill.toolgraph.validity import LIMITS, ChainLimits
from envmill.toolgraph.weaving import weave
from envmill.toolgraph.words import Words
from schemas.proposal import Proposal
from schemas.sketch import ToolSketch

LEAST = 6
"""Minimal number of tools of a domain: fewer give no useful walks."""
WALKS = 12
"""Walks for each domain."""


async def propose_domains(
    tools: Sequence[ToolSketch],
    evidence: Sequence[EvidenceSource] = (),
    seed: int = 0,
    walks: int = WALKS,
    limits: ChainLimits = LIMITS,
) -> list[Proposal]:
    """One proposal for each domain that is large enough, the largest first; smaller domains are in
    `left_out`. The same seed gives the same proposals. `evidence` is used in addition to names,
    tables and sharing."""
    graph = await weave(tools, [NameEvidence(), TableEvidence(), SharingEvidence(), *evidence])
    domains = find_domains(graph, seed)
    large = [domain for domain in domains if len(domain.tools) >= LEAST]
    small = {
        name: f"its domain has {len(one.tools)} tools, of {LEAST}"
        for one in domains
        if one not in large
        for name in one.tools
    }
    found = [await _propose(graph, domain, seed, walks, limits) for domain in large]
    return [
        one.model_copy(update={"left_out": one.left_out | (small if place == 0 else {})})
        for place, one in enumerate(found)
    ]


async def _propose(
    graph: ToolGraph, domain: ToolGroup, seed: int, walks: int, limits: ChainLimits
) -> Proposal:
    members = [graph.index[name] for name in domain.tools]
    tabled = propose_tables(graph.parameters, graph.tools, members)
    left_out = dict(tabled.left_out)
    kept = list[ToolSketch]()
    for tool in members:
        placed = place_tool(graph, tool, tabled)
        if placed is None:
            left_out[graph.tools[tool].name] = "nothing that it speaks of has a table"
        else:
            kept.append(placed)
    tables = list(tabled.tables.values())
    alone = await weave(kept, [NameEvidence(), TableEvidence()], tables)
    unreached = set(audit_graph(alone).out_of_reach)
    left_out |= {name: "nobody can supply what it needs" for name in sorted(unreached)}
    drawn = sample_chains(alone, SAMPLERS["weighted"], walks, seed, limits)
    licences = {tool.licence for tool in kept}
    return Proposal(
        name=domain.name,
        tools=[tool for tool in kept if tool.name not in unreached],
        tables=tables,
        walks=drawn.chains,
        left_out=left_out,
        licence="unknown"
        if "unknown" in licences or not licences
        else " AND ".join(sorted(licences)),
    )


def place_tool(graph: ToolGraph, tool: int, tabled: Tabled) -> ToolSketch | None:
    """The tool with the tables that it reads and writes; None if there are none."""
    sketch, about = graph.tools[tool], graph.parameters.entities[tool]
    own = [tabled.tables[about].name] if about in tabled.tables else []
    others = [name for name in _list_referred(graph, tool, tabled) if name not in own]
    if not own and not others:
        return None
    if sketch.effect == "query":
        return sketch.model_copy(update={"reads": own + others, "writes": []})
    # What is about nothing that has a table changes what it refers to.
    return sketch.model_copy(update={"reads": own + others, "writes": own or others[:1]})


def _list_referred(graph: ToolGraph, tool: int, tabled: Tabled) -> list[str]:
    """Tables of the things that its arguments select."""
    selected: list[Words] = [
        one.words[:-1] for one in graph.parameters.inputs[tool] if one.is_reference
    ]
    return list(
        dict.fromkeys(tabled.tables[entity].name for entity in selected if entity in tabled.tables)
    )
