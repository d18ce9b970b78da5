"""Domains: communities of tools that supply values to each other, found with Louvain's method and
named after their entities."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from envmill.toolgraph.graph import WEIGHTS, ToolGraph
from envmill.toolgraph.parameters import NOBODY
from envmill.toolgraph.words import Words

RESOLUTION = 1.0
"""Above 1: more and smaller domains."""


@dataclass(frozen=True)
class ToolGroup:
    """Tools that belong together."""

    name: str
    """Services, and the entities that most of its tools are about."""
    tools: tuple[str, ...]


def find_domains(
    graph: ToolGraph, seed: int = 0, resolution: float = RESOLUTION
) -> tuple[ToolGroup, ...]:
    """Domains, the largest first. The result depends only on graph and seed, not on the process."""
    import networkx  # late: a third of a second that only those pay who partition

    # Numbers, and edges in order: sets of numbers are walked alike whatever the hash seed.
    net: Any = networkx.Graph()  # pyright: ignore[reportUnknownVariableType]
    net.add_nodes_from(range(len(graph.tools)))
    for (first, then), weight in sorted(_weigh_pairs(graph).items()):
        net.add_edge(first, then, weight=weight)
    found: Iterable[set[int]] = networkx.community.louvain_communities(
        net, weight="weight", resolution=resolution, seed=seed
    )
    ordered = sorted((sorted(one) for one in found), key=lambda one: (-len(one), one[0]))
    return tuple(_name_all(graph, ordered))


def _weigh_pairs(graph: ToolGraph) -> dict[tuple[int, int], float]:
    """Undirected weights. A meaning that one service uses ties its tools; a meaning that every
    service uses (a role, a tag) ties none."""
    weights, parameters = defaultdict[tuple[int, int], float](float), graph.parameters.all
    speaking = _count_services(graph)
    for taker, links in graph.links.items():
        then, shared = parameters[taker].owner, speaking[parameters[taker].words]
        for link in links:
            if (first := parameters[link.giver].owner) != NOBODY:
                pair = min(first, then), max(first, then)
                weights[pair] = max(
                    weights[pair], WEIGHTS[graph.labels[first, then]] * link.strength / shared
                )
    for (first, then), bonds in graph.bonds.items():
        weights[min(first, then), max(first, then)] += max(bond.strength for bond in bonds)
    return {pair: weight for pair, weight in weights.items() if weight}


def _count_services(graph: ToolGraph) -> dict[Words, int]:
    """Meaning → number of services that use it."""
    found = defaultdict[Words, set[str]](set)
    for one in graph.parameters.all:
        if one.owner != NOBODY:
            found[one.words].add(graph.parameters.services[one.owner])
    return {words: len(services) for words, services in found.items()}


def _name_all(graph: ToolGraph, ordered: list[list[int]]) -> list[ToolGroup]:
    domains, names = list[ToolGroup](), Counter[str]()
    for members in ordered:
        name = _name(graph, members) or "tools"
        names[name] += 1
        told = name if names[name] == 1 else f"{name} {names[name]}"
        domains.append(ToolGroup(told, tuple(graph.tools[index].name for index in members)))
    return domains


def _name(graph: ToolGraph, members: list[int]) -> str:
    service = _most([graph.tools[index].service for index in members], 2)
    about = _most([" ".join(graph.parameters.entities[index]) for index in members], 2)
    return ": ".join(part for part in (", ".join(service), ", ".join(about)) if part)


def _most(words: list[str], count: int) -> list[str]:
    """The most frequent ones, ties in alphabetical order. Values that are rare compared with the
    first are left out."""
    counted = Counter(filter(None, words))
    ordered = sorted(counted, key=lambda word: (-counted[word], word))[:count]
    return [word for word in ordered if counted[word] * 4 > counted[ordered[0]]]
