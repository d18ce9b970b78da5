"""Links: how values pass between the steps of a chain, in one line and by kind.

find_members (one of `[].id`) → list_loans.member_id; create_visit `id` → book_visit.visit_id
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from envmill.toolgraph.overlap import list_flows
from envmill.toolgraph.references import walk_nodes
from envmill.toolgraph.words import IDENTIFIERS, split_name
from schemas.chain import Branch, Chain, ChainStep, FromItem, FromNode, Loop, Node, Reason, Source

LinkKind = Literal["list", "pick", "result"]
"""`list`: an argument takes a whole list, or a loop goes over one. `pick`: one value of a list is
chosen. `result`: a step takes an id from the reply to a change."""

Link = tuple[str, str, str]
"""Source of a value in words, and the tool and argument that take it. It does not depend on the ids
of steps."""


def list_link_kinds(chain: Chain, effects: Mapping[str, str]) -> list[LinkKind]:
    """Kinds of links in the chain, each once. `effects`: tool → whether it looks up or changes
    something."""
    nodes = _name_nodes(chain)
    found: set[LinkKind] = (
        {"list"} if any(isinstance(node, Loop) for node in nodes.values()) else set()
    )
    for flow in list_flows(chain):
        if _is_id(flow.source) and any(
            effects.get(_name_tool(nodes, giver)) == "change" for giver in flow.givers
        ):
            found.add("result")
        if isinstance(flow.source, FromNode):
            node = nodes[flow.source.node]
            if isinstance(node, Reason):
                found |= {"pick"} if node.rule == "choose" else set()
            elif "[]" in flow.source.path:
                found.add("list")
    return sorted(found)


def list_links(chain: Chain) -> list[tuple[str, Link]]:
    """Links, each with the step that takes the value."""
    nodes = _name_nodes(chain)
    return [
        (
            flow.step,
            (
                "; ".join(_describe_giver(flow.source, nodes)),
                _name_tool(nodes, flow.step),
                flow.argument,
            ),
        )
        for flow in list_flows(chain)
    ]


def describe_links(chain: Chain) -> str:
    """The links in one line; empty if no value passes between steps."""
    found = dict[str, list[str]]()
    for _, (given, tool, argument) in list_links(chain):
        found.setdefault(given, []).append(f"{tool}.{argument}")
    return "; ".join(f"{given} → {', '.join(takers)}" for given, takers in found.items())


def _is_id(source: Source) -> bool:
    return isinstance(source, FromNode) and bool(
        IDENTIFIERS.intersection(split_name(source.path.rpartition(".")[2])[-1:])
    )


def _describe_giver(source: Source, nodes: Mapping[str, Node]) -> Iterator[str]:
    if isinstance(source, FromItem):
        loop = nodes[source.loop]
        some = (
            any(isinstance(node, Branch) for node in loop.body) if isinstance(loop, Loop) else False
        )
        giver = _name_tool(nodes, loop.over.node) if isinstance(loop, Loop) else source.loop
        yield f"{giver} ({'some' if some else 'each'} of `{source.path}`)"
    elif isinstance(source, FromNode):
        node = nodes.get(source.node)
        if isinstance(node, ChainStep):
            yield f"{node.tool} ({'all of ' if '[]' in source.path else ''}`{source.path}`)"
        elif isinstance(node, Reason) and node.rule == "choose":
            first = node.takes[0]
            yield (
                f"{_name_tool(nodes, first.node)} (one of `{first.path}`)"
                if isinstance(first, FromNode)
                else node.rule
            )
        elif isinstance(node, Reason):
            yield (
                f"{node.rule} of "
                f"{' and '.join(one for taken in node.takes for one in _describe_giver(taken, nodes))}"
            )


def _name_nodes(chain: Chain) -> dict[str, Node]:
    return {one.node.id: one.node for one in walk_nodes(chain.nodes)}


def _name_tool(nodes: Mapping[str, Node], step: str) -> str:
    node = nodes.get(step)
    return node.tool if isinstance(node, ChainStep) else step
