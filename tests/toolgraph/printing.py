"""A graph, its domains and chains through it as one short text, to be compared between
processes."""

from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.partition import find_domains
from envmill.toolgraph.samplers import SAMPLERS
from schemas.base import digest


def render(graph: ToolGraph) -> str:
    chains = {
        name: [one.model_dump() for one in sample_chains(graph, sampler, 5).chains]
        for name, sampler in SAMPLERS.items()
    }
    links = {
        str(taker): [[link.giver, link.strength] for link in found]
        for taker, found in graph.links.items()
    }
    return digest(
        {
            "links": links,
            "edges": sorted(map(list, graph.labels)),
            "domains": [one.tools for one in find_domains(graph)],
            **chains,
        }
    )
