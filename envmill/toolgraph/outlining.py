"""Outlines: proposals reduced to the size of an environment, and to tools that a program over
tables can implement.

proposal ─► tables that refer to each other, a few at a time ─► their tools, inputs flat ─► graph of these alone ─► walks, each judged
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.base import EvidenceSource
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.parameters import flatten
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.validity import LIMITS
from envmill.toolgraph.weaving import weave
from envmill.toolgraph.words import find_meaning, is_control
from schemas.base import Json
from schemas.chain import Chain, ChainStep
from schemas.database import Table
from schemas.proposal import Outline, Proposal
from schemas.sketch import ToolSketch

LEAST, CHANGES = 6, 3
"""Minimal number of tools of an environment, and of tools that write: with fewer, no call could do
harm."""
MOST, TABLES = 24, 6
"""Maximal number of tools and tables of one environment, unless more are asked for."""
SPARE = 2
"""Some documented tools cannot be implemented over tables. So if a number is asked for, this many
times as many tools are considered."""
MOST_TABLES = 40
ENOUGH = 12
"""Number of tools up to which unrelated tables may join a part."""
WALKS = 24
_SAID = 160
"""Maximal length of a tool's description: the rest describes limits and errors of the real
service."""
_REPLIED = 12
"""Maximal number of values of a documented reply that an outline keeps."""
_PLAIN = ("string", "integer", "number", "boolean")
_KEPT = ("type", "enum", "format", "minimum", "maximum")


@dataclass(frozen=True)
class OutlinePart:
    """The part of a proposal for one environment."""

    name: str
    """Its services and tables."""
    outline: Outline
    licence: str
    sketches: tuple[ToolSketch, ...]
    """Its tools, as documented."""


@dataclass(frozen=True)
class Size:
    """Sizes of parts."""

    most: int = MOST
    """Tools of one part."""
    tables: int = TABLES
    """Maximal number of tables of one part."""
    asked: int = 0
    """Number of tables that was asked for: a part grows until it has that many, however many tools
    it has."""

    @classmethod
    def of(cls, tools: int | None, tables: int | None) -> "Size":
        """Sizes for the numbers that were asked for. Many tools need more tables than few."""
        if tools is None and tables is None:
            return cls()
        most = (tools or MOST) * SPARE
        return cls(most, min(MOST_TABLES, max(TABLES, most // 3, tables or 0)), tables or 0)


def outline_proposal(proposal: Proposal, size: Size = Size()) -> list[OutlinePart]:
    """The largest part first, without walks. Parts that are too small are left out, and the first
    part names them."""
    parts, left_out, most = list[OutlinePart](), dict(proposal.left_out), size.most
    for group in _group_tables(proposal, size):
        known = {table.name for table in group}
        members = sorted(
            (tool for tool in proposal.tools if _find_home(tool) in known),
            key=lambda tool: not is_plain(tool),
        )
        if fault := _find_fault(members[:most]):
            left_out |= {tool.name: fault for tool in members}
            continue
        left_out |= {
            tool.name: f"beyond the {most} tools of one environment" for tool in members[most:]
        }
        flat = [_flatten(tool, known) for tool in members[:most]]
        outline = Outline(tools=flat, tables=[_cut(table, known) for table in group], walks=[])
        parts.append(
            OutlinePart(
                _name(proposal, group, members), outline, proposal.licence, tuple(members[:most])
            )
        )
    return [_describe(part, left_out if not place else {}) for place, part in enumerate(parts)]


async def add_walks(
    part: OutlinePart, seed: int = 0, evidence: Sequence[EvidenceSource] = ()
) -> OutlinePart:
    """The part with directed walks through its documented tools. `evidence` is used in addition to
    names and tables."""
    graph = await weave(
        part.sketches, [NameEvidence(), TableEvidence(), *evidence], part.outline.tables
    )
    chains = sample_chains(graph, SAMPLERS["weighted"], WALKS, seed, LIMITS).chains
    walks = [list(walk) for walk in dict.fromkeys(tuple(_list_tools(chain)) for chain in chains)]
    return replace(part, outline=part.outline.model_copy(update={"walks": walks}))


def _describe(part: OutlinePart, left_out: dict[str, str]) -> OutlinePart:
    return replace(part, outline=part.outline.model_copy(update={"left_out": left_out}))


def _find_home(tool: ToolSketch) -> str:
    """The table that the tool is about."""
    return next(iter([*tool.writes, *tool.reads]), "")


def _find_fault(tools: Sequence[ToolSketch]) -> str:
    if len(tools) < LEAST:
        return f"its tables have {len(tools)} tools, of {LEAST} that an environment needs"
    changes = sum(tool.effect != "query" for tool in tools)
    return (
        f"its tables have {changes} tools that write, of {CHANGES} that an environment needs"
        if changes < CHANGES
        else ""
    )


def _group_tables(proposal: Proposal, size: Size) -> Iterator[list[Table]]:
    """Groups of tables: each starts with the table that most tools are about and adds the nearest
    ones until it is large enough."""
    counts = {
        table.name: sum(_find_home(tool) == table.name for tool in proposal.tools)
        for table in proposal.tables
    }
    left = {
        table.name: table for table in sorted(proposal.tables, key=lambda one: -counts[one.name])
    }
    near = _find_neighbours(proposal)
    while left:
        group, fringe = list[Table](), [next(iter(left))]
        while fringe and (
            len(group) < size.asked
            or (len(group) < size.tables and sum(counts[one.name] for one in group) < size.most)
        ):
            group.append(left.pop(fringe.pop(0)))
            fringe = [name for name in left if any(name in near[one.name] for one in group)]
            # Too little to stand alone: what the same domain has besides may stand beside it.
            if not fringe and (
                len(group) < size.asked or sum(counts[one.name] for one in group) < ENOUGH
            ):
                fringe = list(left)[:1]
        yield group


def _find_neighbours(proposal: Proposal) -> dict[str, set[str]]:
    """Tables that refer to each other, or that the same tool touches."""
    near = {
        table.name: {column.references.partition(".")[0] for column in table.columns}
        for table in proposal.tables
    }
    for tool in proposal.tools:
        for name in tool.reads:
            near[name] |= set(tool.reads) - {name}
    return {
        name: found | {other for other, seen in near.items() if name in seen}
        for name, found in near.items()
    }


def _flatten(tool: ToolSketch, tables: set[str]) -> ToolSketch:
    """Inputs that a person says or looks up, including lists of them. An object or another list
    stays if the tool requires it, so that an author can say so."""
    properties: dict[str, Json] = tool.inputs.get("properties", {})
    required: list[str] = tool.inputs.get("required") or []
    kept = {
        name: _shorten(one)
        for name, one in properties.items()
        if _is_plain(one) or is_list(one) or name in required
    }
    inputs = {"type": "object", "properties": kept, "required": required}
    touched = {
        side: [name for name in getattr(tool, side) if name in tables]
        for side in ("reads", "writes")
    }
    said = tool.description.strip().partition(". ")[0][:_SAID].strip()
    kept_words = {"inputs": inputs, "outputs": cut_outputs(tool.outputs), "description": said}
    return tool.model_copy(update=kept_words | {"about": {}, "told": {}} | touched)


def cut_outputs(schema: Json) -> Json:
    """The plain values of a documented reply, at most `_REPLIED`: its own first, then those of its
    objects and of lists of objects. Values for paging are left out."""
    kept = [
        leaf
        for leaf in flatten(schema)
        if leaf.path and _is_plain(leaf.schema) and not is_control(find_meaning(leaf.path, ()))
    ]
    near = sorted(kept, key=lambda leaf: leaf.path.count("."))[:_REPLIED]
    return _build_schema(
        [(leaf.path.split("."), _shorten(leaf.schema)) for leaf in kept if leaf in near]
    )


def _build_schema(leaves: Sequence[tuple[list[str], Json]]) -> Json:
    """A schema of the leaves at these paths; a part that ends with `[]` is a list."""
    parts = dict[str, list[tuple[list[str], Json]]]()
    for path, leaf in leaves:
        parts.setdefault(path[0], []).append((path[1:], leaf))
    listed = parts.pop("[]", None)
    if listed is not None:
        return {"type": "array", "items": _build_part(listed)}
    properties = {
        name.removesuffix("[]"): _wrap(name, _build_part(found)) for name, found in parts.items()
    }
    return {"type": "object", "properties": properties} if properties else {}


def _build_part(leaves: Sequence[tuple[list[str], Json]]) -> Json:
    deeper = [(path, leaf) for path, leaf in leaves if path]
    return _build_schema(deeper) if deeper else leaves[0][1]


def _wrap(name: str, schema: Json) -> Json:
    return {"type": "array", "items": schema} if name.endswith("[]") else schema


def is_plain(tool: ToolSketch) -> bool:
    """Whether its required inputs are all texts, numbers, booleans, or lists of these."""
    properties: dict[str, Json] = tool.inputs.get("properties", {})
    required: list[str] = tool.inputs.get("required") or []
    return all(
        _is_plain(one) or is_list(one) for one in (properties.get(name, {}) for name in required)
    )


def is_list(schema: Json) -> bool:
    """Whether it is a list of plain values, such as ids that a step takes from a reply."""
    return schema.get("type") == "array" and _is_plain(schema.get("items") or {})


def _is_plain(schema: Json) -> bool:
    return schema.get("type") in _PLAIN


def _shorten(schema: Json) -> Json:
    kept = {key: schema[key] for key in _KEPT if key in schema}
    return kept | {"items": _shorten(schema["items"])} if is_list(schema) else kept


def _cut(table: Table, known: set[str]) -> Table:
    """Remove references to tables of other parts."""
    columns = [
        one
        if one.references.partition(".")[0] in known
        else one.model_copy(update={"references": ""})
        for one in table.columns
    ]
    return table.model_copy(update={"columns": columns})


def _list_tools(chain: Chain) -> list[str]:
    return [node.tool for node in chain.nodes if isinstance(node, ChainStep)]


def _name(proposal: Proposal, group: Sequence[Table], members: Sequence[ToolSketch]) -> str:
    """Name of the part: the service of most of its tools. Parts of a domain with several services
    may have different names."""
    counted = Counter(sorted(tool.service for tool in members if tool.service)).most_common(1)
    service = counted[0][0] if counted else proposal.name.partition(":")[0].replace(",", "")
    return " ".join([service, *(table.name for table in group[:2])])
