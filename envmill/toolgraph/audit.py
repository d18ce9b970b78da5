"""The audit: required inputs that nobody can supply, tools that need them, and tools that nothing
leads to."""

from dataclasses import dataclass

from envmill.toolgraph.graph import ToolGraph


@dataclass(frozen=True)
class Unsuppliable:
    """A required input that no user says, no tool gives and no record holds."""

    tool: str
    path: str
    means: str
    """What it means, in words."""


@dataclass(frozen=True)
class Audit:
    """What stands in the way of calling the tools of a graph."""

    unsuppliable: tuple[Unsuppliable, ...]
    out_of_reach: tuple[str, ...]
    """Tools that cannot be called, whatever is called before them."""


def audit_graph(graph: ToolGraph) -> Audit:
    """Mend it with `told` where a user does know the value, with another tool, or with tables whose
    records are looked up."""
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
