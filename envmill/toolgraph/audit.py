"""The audit: required inputs that nothing can supply, tools that need them, and tools that nothing
leads to."""

from dataclasses import dataclass

from envmill.toolgraph.graph import ToolGraph


@dataclass(frozen=True)
class Unsuppliable:
    """A required input that no user says, no tool gives and no record holds."""

    tool: str
    path: str
    means: str
    """Its meaning, in words."""


@dataclass(frozen=True)
class Audit:
    """Why tools of a graph cannot be called."""

    unsuppliable: tuple[Unsuppliable, ...]
    out_of_reach: tuple[str, ...]
    """Tools that no chain can call."""


def audit_graph(graph: ToolGraph) -> Audit:
    """To supply such an input, set `told` if a user knows the value, add another tool, or add
    tables whose records are looked up."""
    lacking = tuple(
        Unsuppliable(graph.tools[one.owner].name, one.path, " ".join(one.words))
        for required in graph.required
        for one in required
        if not one.told and not graph.links.get(one.index)
    )
    return Audit(
        lacking,
        tuple(tool.name for index, tool in enumerate(graph.tools) if index not in graph.reachable),
    )
