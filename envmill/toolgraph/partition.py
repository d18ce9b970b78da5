"""Domains: tools that give each other values, found as communities of the graph (Louvain), and named by what they are about."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from envmill.toolgraph.graph import WEIGHTS, ToolGraph

RESOLUTION = 1.0
"""Above 1: more and smaller domains."""


@dataclass(frozen=True)
class Domain:
    """Tools that belong together."""

    name: str
    """Service and the entities most of its tools are about."""
    tools: tuple[str, ...]


def find_domains(graph: ToolGraph, seed: int = 0, resolution: float = RESOLUTION) -> tuple[Domain, ...]:
    """The same for the same graph and seed, in every process; the largest first."""
    import networkx  # late: a third of a second that only those pay who partition

    # Numbers, and edges in order: sets of numbers are walked alike whatever the hash seed.
    net: Any = networkx.Graph()  # pyright: ignore[reportUnknownVariableType]
    net.add_nodes_from(range(len(graph.tools)))
    for (first, then), weight in sorted(_weigh_pairs(graph).items()):
        net.add_edge(first, then, weight=weight)
    found: Iterable[set[int]] = networkx.community.louvain_communities(net, weight="weight", resolution=resolution, seed=seed)
    ordered = sorted((sorted(one) for one in found), key=lambda one: (-len(one), one[0]))
    return tuple(_name_all(graph, ordered))


def _weigh_pairs(graph: ToolGraph) -> dict[tuple[int, int], float]:
    """Undirected: what goes one way and the other is added up."""
    weights = defaultdict[tuple[int, int], float](float)
    for (first, then), label in graph.labels.items():
        weights[min(first, then), max(first, then)] += WEIGHTS[label]
    return weights


def _name_all(graph: ToolGraph, ordered: list[list[int]]) -> list[Domain]:
    domains, names = list[Domain](), Counter[str]()
    for members in ordered:
        name = _name(graph, members)
        names[name] += 1
        told = name if names[name] == 1 else f"{name} {names[name]}"
        domains.append(Domain(told, tuple(graph.tools[index].name for index in members)))
    return domains


def _name(graph: ToolGraph, members: list[int]) -> str:
    service = _most([graph.tools[index].service for index in members], 1)
    about = _most([" ".join(graph.parameters.entities[index]) for index in members], 2)
    return ": ".join(part for part in (" ".join(service), ", ".join(about)) if part)


def _most(words: list[str], count: int) -> list[str]:
    """The most frequent, ties by the alphabet."""
    counted = Counter(filter(None, words))
    return sorted(counted, key=lambda word: (-counted[word], word))[:count]
