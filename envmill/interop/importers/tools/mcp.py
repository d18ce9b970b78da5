"""Reader `mcp`: results of MCP's `tools/list`, as a server sent them or as a list of their
pages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from envmill.interop.importers.tools.base import ToolHarvest, make_name
from envmill.interop.importers.tools.documents import read_files
from envmill.interop.importers.tools.shaping import ForeignReference, Shaper
from envmill.toolgraph.words import find_entity
from schemas.base import Json, is_array, is_object
from schemas.sketch import ToolSketch


def read_lists(sources: Sequence[str]) -> ToolHarvest:
    """Every tool of every file; a file is one server."""
    harvest = ToolHarvest()
    for path, document in read_files(sources, harvest):
        pages = list(_list_pages(document))
        if not pages:
            harvest.refuse(path.name, "not_mcp", "no result of tools/list: it holds no `tools`")
            continue
        if is_object(pages[-1]) and pages[-1].get("nextCursor"):
            harvest.note(
                path.name, "more_pages", "its last page names another one that is not here"
            )
        harvest.note(
            path.name,
            "no_licence",
            "MCP says nothing of licences: what is made of it is not exported by default",
        )
        for page in pages:
            for tool in page["tools"]:
                harvest.found += 1
                _read_tool(make_name(path.stem), tool, harvest)
    return harvest.settle()


def _list_pages(document: Json) -> Iterator[dict[str, Json]]:
    """Bare, in a reply's envelope, several, or a list of the tools themselves."""
    if (
        is_array(document)
        and document
        and all(is_object(one) and "inputSchema" in one for one in document)
    ):
        yield {"tools": document}
        return
    for one in document if is_array(document) else [document]:
        page = one.get("result", one) if is_object(one) else None
        if is_object(page) and is_array(page.get("tools")):
            yield page


def _read_tool(service: str, tool: Json, harvest: ToolHarvest) -> None:
    if not is_object(tool) or not isinstance(tool.get("name"), str) or not tool["name"]:
        harvest.refuse(service, "nameless", "a tool without a name")
        return
    name, schema = make_name(tool["name"]), tool.get("inputSchema")
    if name != tool["name"]:
        harvest.change(name, "renamed", f"was {tool['name']}")
    if not is_object(schema) or schema.get("type", "object") != "object":
        harvest.refuse(name, "no_schema", "its inputSchema is no object's")
        return
    inputs = _shape(name, schema, "its arguments", harvest)
    if inputs is None:
        harvest.refuse(name, "foreign_reference", "its arguments refer to another document")
        return
    sketch = ToolSketch(
        name=name,
        description=" ".join(str(tool.get("description") or tool.get("title") or "").split())[
            :1000
        ],
        service=service,
        entity=" ".join(find_entity(name)),
        effect=_find_effect(tool.get("annotations")),
        inputs={"type": "object", "properties": {}} | inputs | {"additionalProperties": False},
        outputs=_read_outputs(name, tool, harvest),
        source="mcp",
    )
    harvest.add(sketch)


def _read_outputs(name: str, tool: Mapping[str, Json], harvest: ToolHarvest) -> dict[str, Json]:
    given = tool.get("outputSchema")
    if not is_object(given):
        harvest.note(name, "no_reply", "it does not say what its replies hold")
        return {}
    shaped = _shape(name, given, "its reply", harvest)
    if shaped is None:
        harvest.change(
            name, "foreign_reference", "its reply refers to another document, and is left open"
        )
    return shaped or {}


def _shape(name: str, schema: Json, where: str, harvest: ToolHarvest) -> dict[str, Json] | None:
    try:
        return Shaper(
            schema, lambda code, part: harvest.change(name, code, f"in {where}", part)
        ).shape(schema)
    except ForeignReference:
        return None


def _find_effect(annotations: Json) -> Literal["query", "change", "unknown"]:
    """By its hints, which are all MCP has; unsaid stays unknown."""
    hints = annotations if is_object(annotations) else {}
    if hints.get("readOnlyHint") is True:
        return "query"
    return (
        "change"
        if hints.get("destructiveHint") is True or hints.get("readOnlyHint") is False
        else "unknown"
    )
