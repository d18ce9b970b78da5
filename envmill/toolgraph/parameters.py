"""Parameters: one flat list of all inputs and outputs of tools and all columns of tables.

JSON Schema ──► leaves: `orders[].id`, `filter.status` ──► words, type, required, whether a user can say it
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envmill.toolgraph.words import (
    IDENTIFIERS,
    LABELS,
    REFERENCES,
    Words,
    find_entity,
    find_meaning,
    is_control,
    is_ending,
    split_name,
)
from schemas.base import Json, is_array, is_object
from schemas.database import Table
from schemas.sketch import ToolSketch

DEPTH = 4
"""Maximal levels of names in a path. A deeper object counts as one value."""
MOST = 200
"""Maximal number of parameters on one side of a tool. `left_out` counts those beyond it."""
NOBODY = -1
"""Owner of a column: no tool."""
KEY_OF = "x-key-of"
"""Annotation in a schema: the table whose key the value was observed to be. It decides the meaning
of the value, whatever its name."""

_UNSAYABLE = frozenset({"uuid", "uri", "url", "byte", "binary", "blob", "uri-reference"})


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """An input, an output or a column."""

    index: int
    """Index in the graph's list of parameters."""
    owner: int
    """Index of its tool; NOBODY for a column."""
    side: Literal["input", "output", "column"]
    path: str
    """Path from the top of the arguments or the reply; `table.column` for a column."""
    words: Words
    """Its meaning."""
    type: str
    """JSON type; empty where unknown."""
    format: str
    description: str
    choices: tuple[str, ...]
    """Allowed values, if they are listed."""
    needed_with: str | None
    """Path of the part of the arguments that requires it; empty for the whole arguments, None if it
    is always optional."""
    told: bool
    """Whether a user can say it."""
    required: bool
    """Whether every call requires it."""
    depth: int
    """Number of lists around it."""

    @property
    def is_reference(self) -> bool:
        """Whether it selects a thing. A label that is attached to things selects none."""
        return self.words[-1] in REFERENCES and self.words[0] not in LABELS

    @property
    def is_one_word(self) -> bool:
        """Whether its own name is a single word, so that the other words in `words` come from the
        thing that it describes."""
        return len(split_name(self.path.rpartition(".")[2])) == 1

    @property
    def is_control(self) -> bool:
        return is_control(self.words)


@dataclass(frozen=True)
class SchemaLeaf:
    """A value inside a schema, before its meaning is known."""

    path: str
    schema: Mapping[str, Json]
    needed_with: str | None
    """See ToolParameter."""


def flatten(schema: Json) -> Iterator[SchemaLeaf]:
    """Values of an object's schema in the order in which they are written. A schema that is a list
    at the top gives paths such as `[].id`."""
    if is_object(schema):
        is_list = find_type(schema) == "array"
        yield from (
            _flatten_any(schema, "", "", DEPTH)
            if is_list
            else _flatten_object(schema, "", "", DEPTH)
        )


def _flatten_object(
    schema: Mapping[str, Json], path: str, needed_with: str, depth: int
) -> Iterator[SchemaLeaf]:
    properties, wanted = schema.get("properties"), schema.get("required", [])
    for name, part in properties.items() if is_object(properties) else ():
        if is_object(part):
            yield from _flatten_any(
                part,
                f"{path}.{name}" if path else name,
                needed_with if name in wanted else None,
                depth,
            )


def _flatten_any(
    schema: Mapping[str, Json], path: str, needed_with: str | None, depth: int
) -> Iterator[SchemaLeaf]:
    """An optional object starts a part of its own: its required values are required as soon as the
    part is present."""
    items = schema.get("items")
    if find_type(schema) == "array" and is_object(items):
        yield from _flatten_any(items, f"{path}[]", needed_with, depth)
    elif schema.get("properties") and depth > 1:
        yield from _flatten_object(
            schema, path, path if needed_with is None else needed_with, depth - 1
        )
    else:
        yield SchemaLeaf(path, schema, needed_with)


def list_around(path: str) -> list[str]:
    """Parts that contain a value: for `a.b[].c` they are `a` and `a.b[]`."""
    parts = path.split(".")[:-1]
    return [".".join(parts[: place + 1]) for place in range(len(parts))]


def render_argument(path: str) -> str:
    """Name of an input in a step. It is the tool's own name, so a list of plain values is
    `order_ids` and not `order_ids[]`."""
    return path.removesuffix("[]")


def find_type(schema: Mapping[str, Json]) -> str:
    """The one type of a schema. A null beside it is ignored; a choice of several types gives
    none."""
    given = schema.get("type", "")
    types = {given} if isinstance(given, str) else {str(one) for one in given}
    for option in schema.get("anyOf", ()):
        types |= {find_type(option)} if is_object(option) else set()
    types -= {"", "null"}
    return types.pop() if len(types) == 1 else ""


class Parameters:
    """All parameters of a set of tools and of the tables behind them."""

    def __init__(self, tools: Sequence[ToolSketch], tables: Sequence[Table] = ()) -> None:
        self.all: list[ToolParameter] = []
        self.left_out: dict[str, int] = {}
        """Tool → number of its values beyond MOST."""
        self.entities = [
            split_name(tool.entity) if tool.entity else find_entity(tool.name) for tool in tools
        ]
        self.inputs = [self._add_side(index, tool, "input") for index, tool in enumerate(tools)]
        self.outputs = [self._add_side(index, tool, "output") for index, tool in enumerate(tools)]
        self.columns = [
            self._add_column(table, place)
            for table in tables
            for place in range(len(table.columns))
        ]
        self.by_path = [{one.path: one for one in side} for side in self.inputs]
        self.out_by_path = [{one.path: one for one in side} for side in self.outputs]
        self.column_by_path = {one.path: one for one in self.columns}
        self.services = [tool.service for tool in tools]
        self.ending = frozenset(index for index, tool in enumerate(tools) if is_ending(tool.name))
        """Tools that end their entity: later steps cannot use their outputs."""
        self.known = {
            one.words[:-1] for one in self.all if len(one.words) > 1 and one.words[-1] == "id"
        } | set(self.entities)
        """Entities that these tools distinguish."""

    def find_input(self, tool: int, path: str) -> ToolParameter | None:
        """The input that a step names. The mark of a list at the end of the name may be left
        out."""
        inputs = self.by_path[tool]
        return inputs.get(path) or inputs.get(f"{path}[]")

    def _add_side(
        self, owner: int, tool: ToolSketch, side: Literal["input", "output"]
    ) -> list[ToolParameter]:
        leaves = list(flatten(tool.inputs if side == "input" else tool.outputs))
        if len(leaves) > MOST:
            # What is required stays, whatever stands before it.
            leaves.sort(key=lambda leaf: (leaf.needed_with is None, leaf.needed_with != ""))
            self.left_out[tool.name] = self.left_out.get(tool.name, 0) + len(leaves) - MOST
        return [self._add_leaf(owner, tool, side, leaf) for leaf in leaves[:MOST]]

    def _add_leaf(
        self, owner: int, tool: ToolSketch, side: Literal["input", "output"], leaf: SchemaLeaf
    ) -> ToolParameter:
        about = (
            split_name(tool.about[leaf.path])
            if side == "input" and leaf.path in tool.about
            else self.entities[owner]
        )
        words, type = find_meaning(leaf.path, about), find_type(leaf.schema)
        format, choices = str(leaf.schema.get("format", "")), leaf.schema.get("enum", ())
        told = tool.told.get(leaf.path, can_be_said(words, type, format))
        words = (*split_name(str(leaf.schema[KEY_OF])), "id") if KEY_OF in leaf.schema else words
        return self._add(
            owner=owner,
            side=side,
            path=leaf.path,
            words=words,
            type=type,
            format=format,
            description=str(leaf.schema.get("description", "")),
            choices=tuple(map(str, choices)) if is_array(choices) else (),
            needed_with=leaf.needed_with,
            told=told,
        )

    def _add_column(self, table: Table, place: int) -> ToolParameter:
        column = table.columns[place]
        type = _COLUMN_TYPES.get(column.type.split("(")[0].strip().casefold(), "")
        words = (
            find_meaning(column.references or column.name, split_name(table.name))
            if "." in column.references
            else ()
        )
        return self._add(
            owner=NOBODY,
            side="column",
            path=f"{table.name}.{column.name}",
            words=words or find_meaning(column.name, split_name(table.name)),
            type=type,
            format="",
            description="",
            choices=(),
            needed_with=None,
            told=False,
        )

    def _add(self, **fields: Json) -> ToolParameter:
        required, depth = fields["needed_with"] == "", fields["path"].count("[]")
        parameter = ToolParameter(index=len(self.all), required=required, depth=depth, **fields)
        self.all.append(parameter)
        return parameter


_COLUMN_TYPES = {
    "text": "string", "varchar": "string", "char": "string", "date": "string", "datetime": "string", "timestamp": "string",
    "integer": "integer", "int": "integer", "bigint": "integer", "boolean": "integer",
    "real": "number", "float": "number", "double": "number", "numeric": "number", "decimal": "number",
}  # fmt: skip


def can_be_said(words: Words, type: str, format: str) -> bool:
    """Whether a user can say it, decided by name and type: names, texts, dates, amounts and choices
    can be said; identifiers, addresses, tokens and free objects cannot."""
    if words[-1] in IDENTIFIERS or format in _UNSAYABLE:
        return False
    return type not in ("object", "array", "null")
