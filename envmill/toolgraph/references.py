"""References: which nodes of a chain refer to which, and which of them wait for themselves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.chain import Branch, Chain, ChainStep, FromItem, FromNode, Loop, Node, Reason, Source


@dataclass(frozen=True, slots=True)
class Walked:
    """A node, and the loops and branches around it."""

    node: Node
    around: tuple[str, ...]


def walk_nodes(nodes: Sequence[Node], around: tuple[str, ...] = ()) -> Iterator[Walked]:
    """All nodes; a loop or branch comes before the nodes in it."""
    for node in nodes:
        yield Walked(node, around)
        if isinstance(node, Branch):
            yield from walk_nodes([*node.then, *node.otherwise], (*around, node.id))
        elif isinstance(node, Loop):
            yield from walk_nodes(node.body, (*around, node.id))


def list_tools(chain: Chain) -> list[str]:
    """Tools of its steps, in order."""
    return [one.node.tool for one in walk_nodes(chain.nodes) if isinstance(one.node, ChainStep)]


def list_sources(node: Node) -> list[Source]:
    """Sources that the node itself names, without those of nodes inside it."""
    if isinstance(node, ChainStep):
        return list(node.arguments.values())
    if isinstance(node, Reason):
        return node.takes
    return [node.left] if isinstance(node, Branch) else [node.over]


def list_references(node: Node) -> list[str]:
    """Ids of the nodes that it refers to."""
    return [
        one.node if isinstance(one, FromNode) else one.loop
        for one in list_sources(node)
        if isinstance(one, (FromNode, FromItem))
    ]


def is_meeting(chain: Chain) -> bool:
    """Whether the chain is more than a line: some node takes values from two others, or gives
    values to two others."""
    taken = [set(list_references(one.node)) for one in walk_nodes(chain.nodes)]
    given = Counter(name for names in taken for name in names)
    return any(len(names) > 1 for names in taken) or any(times > 1 for times in given.values())


def find_circular(walked: Sequence[Walked]) -> frozenset[str]:
    """Nodes that wait for themselves. A node inside a loop or branch waits for that one, too."""
    waits = {one.node.id: {*list_references(one.node), *one.around} for one in walked}
    if _is_forward(walked, waits):
        return frozenset()
    return frozenset(id for id in waits if id in _reach(waits, id))


def _is_forward(walked: Sequence[Walked], waits: Mapping[str, set[str]]) -> bool:
    """Whether every node refers only to earlier nodes. Then there is no circle, and this check is
    quick."""
    seen = set[str]()
    for one in walked:
        if not waits[one.node.id] <= seen:
            return False
        seen.add(one.node.id)
    return True


def _reach(waits: Mapping[str, set[str]], start: str) -> set[str]:
    reached, ahead = set[str](), list(waits[start])
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += waits.get(name, ())
    return reached
