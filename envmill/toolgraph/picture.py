"""Pictures of chains, as Mermaid: calls, reasoning nodes, and the values that pass between them."""

from collections.abc import Iterator, Sequence

from envmill.toolgraph.references import walk_nodes
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    FromRecord,
    FromUser,
    Loop,
    Node,
    Reason,
    Source,
)

_SHAPES = {
    "step": ('["', '"]'),
    "reason": ('{{"', '"}}'),
    "if": ('{"', '"}'),
    "each": ('[["', '"]]'),
}
"""Kind of node → brackets around its name."""


def render_chain(chain: Chain) -> Iterator[str]:
    """Lines of a flowchart. A node shows the values that the user says for it."""
    yield "flowchart TD"
    walked = list(walk_nodes(chain.nodes))
    for one in walked:
        opens, closes = _SHAPES[one.node.kind]
        yield f"    {one.node.id}{opens}{_escape(_name(one.node))}{closes}"
    for one in walked:
        for giver, word in _list_edges(one.node):
            yield (
                f'    {giver} -->|"{_escape(word)}"| {one.node.id}'
                if word
                else f"    {giver} --> {one.node.id}"
            )
        if one.around:
            yield f"    {one.around[-1]} -.-> {one.node.id}"


def _name(node: Node) -> str:
    if isinstance(node, ChainStep):
        said = [name for name, source in node.arguments.items() if isinstance(source, FromUser)]
        held = [
            f"{name} = {one.table}.{one.column}"
            for name, one in node.arguments.items()
            if isinstance(one, FromRecord)
        ]
        words = "; ".join([f"said: {', '.join(said)}" if said else "", *held]).strip("; ")
        return f"{node.tool}<br/>{words}" if words else node.tool
    if isinstance(node, Reason):
        return node.rule
    return (
        f"{node.op} {node.right if node.right is not None else 'what is said'}"
        if isinstance(node, Branch)
        else "for each"
    )


def _list_edges(node: Node) -> Iterator[tuple[str, str]]:
    """Givers of a node's values, and the path of each value."""
    if isinstance(node, ChainStep):
        for name, source in node.arguments.items():
            yield from _list_givers(source, f" → {name}")
    elif isinstance(node, Reason):
        for source in node.takes:
            yield from _list_givers(source, "")
    else:
        yield from _list_givers(node.over if isinstance(node, Loop) else node.left, "")


def _list_givers(source: Source, into: str) -> Iterator[tuple[str, str]]:
    if isinstance(source, FromNode):
        yield source.node, f"{source.path}{into}" if source.path else into.removeprefix(" → ")
    elif isinstance(source, FromItem):
        yield source.loop, f"{source.path}{into}"


def _escape(text: str) -> str:
    return text.replace('"', "#quot;")


def embed(lines: Sequence[str]) -> str:
    """The picture as a block of Markdown."""
    return "\n".join(["```mermaid", *lines, "```"])
