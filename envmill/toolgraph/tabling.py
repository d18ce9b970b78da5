"""Tables derived from tools: every thing that a tool can select becomes a table, every value that
describes it a column.

cancel_order(order_id), get_order → order.total, order.customer_id   ─►   orders(id, total, customer_id → customers.id)
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from envmill.toolgraph.parameters import Parameters, ToolParameter
from envmill.toolgraph.words import REFERENCES, WRAPPERS, Words, split_name
from schemas.database import Column, Policy, Table
from schemas.sketch import ToolSketch

KEYS = ("id", "arn", "uuid", "guid", "name", "code", "key", "number", "sku", "url", "email")
"""Names of keys. The one that tools ask for most becomes the key, and among equals the first."""
MOST = 24
"""Maximal number of columns of a table: those that most tools mention are kept."""
_PROSE = frozenset(
    {"description", "note", "comment", "message", "text", "reason", "body", "content", "summary"}
)
_TYPES = {
    "string": "text",
    "integer": "integer",
    "number": "real",
    "boolean": "integer",
    "": "text",
}


@dataclass
class Spoken:
    """Everything that tools mention about one kind of thing."""

    mentions: Counter[str] = field(default_factory=Counter[str])
    """Column → number of mentions."""
    types: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter)
    )
    words: dict[str, Words] = field(default_factory=dict[str, Words])
    asked: Counter[str] = field(default_factory=Counter[str])
    """Column → number of tools that ask for it."""
    given: set[str] = field(default_factory=set[str])
    """Columns that some tool outputs."""
    taken_by_makers: set[str] = field(default_factory=set[str])
    """Columns that a tool takes when it creates such a thing."""


@dataclass(frozen=True)
class Tabled:
    """Tables by entity."""

    tables: dict[Words, Table]
    left_out: dict[str, str]


def propose_tables(
    parameters: Parameters, tools: Sequence[ToolSketch], members: Sequence[int]
) -> Tabled:
    """Tables for these tools, in the order in which the tools first mention them."""
    spoken, left_out = _group_mentions(parameters, tools, members), dict[str, str]()
    keys = {entity: key for entity, said in spoken.items() if (key := _find_key(said))}
    tables = dict[Words, Table]()
    for entity, said in spoken.items():
        name = " ".join(entity)
        if entity not in keys:
            left_out[name] = "nothing selects one of it"
        elif len(said.mentions) < 2:
            left_out[name] = "nothing is said of it but what selects it"
        else:
            tables[entity] = _make_table(entity, said, keys)
            if len(said.mentions) > MOST:
                left_out[f"{name}, {len(said.mentions) - MOST} columns"] = (
                    f"beyond the {MOST} that are spoken of most"
                )
    return Tabled(
        {entity: _drop_dangling(table, tables.values()) for entity, table in tables.items()},
        left_out,
    )


def _find_key(said: Spoken) -> str:
    """The key column; empty if none selects a row."""
    able = [one for one in KEYS if one in said.mentions]
    return max(able, key=lambda one: (said.asked[one], -KEYS.index(one)), default="")


def name_table(entity: Words) -> str:
    """Name of a table, in the plural, such as `order_lines`."""
    last = entity[-1]
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        many = f"{last[:-1]}ies"
    else:
        many = f"{last}es" if last.endswith(("s", "x", "ch", "sh")) else f"{last}s"
    return "_".join((*entity[:-1], many))


def _group_mentions(
    parameters: Parameters, tools: Sequence[ToolSketch], members: Sequence[int]
) -> dict[Words, Spoken]:
    """Entities that tools are about. A mention of any other thing belongs to the entity whose
    object contains it."""
    things = {parameters.entities[tool]: Spoken() for tool in members}
    for tool in members:
        makes = tools[tool].name.partition("_")[0] in (
            "create",
            "add",
            "register",
            "open",
            "book",
            "place",
            "put",
            "start",
        )
        for one in (*parameters.inputs[tool], *parameters.outputs[tool]):
            for entity, column in _find_place(one, parameters.entities[tool], things):
                said = things[entity]
                said.mentions[column] += 1
                said.types[column][one.type] += 1
                said.words[column] = one.words
                said.asked[column] += one.side == "input" and one.required
                if one.side == "output":
                    said.given.add(column)
                elif makes and entity == parameters.entities[tool]:
                    said.taken_by_makers.add(column)
    return things


def _find_place(
    one: ToolParameter, about: Words, things: dict[Words, Spoken]
) -> Iterator[tuple[Words, str]]:
    """Entity and column; None for control parameters, whole objects and lists of values."""
    if one.is_control or one.type in ("object", "array", "null") or one.path.endswith("[]"):
        return
    if one.words[:-1] in things:
        yield one.words[:-1], one.words[-1]
    holder = _find_holder(one.path, about)
    if holder in things and holder != one.words[:-1] and not one.is_one_word:
        yield holder, "_".join(one.words)


def _find_holder(path: str, about: Words) -> Words:
    """The object that contains a value: the nearest one that is more than a wrapper."""
    around = path.replace("[]", "").split(".")[:-1]
    return next(
        (
            words
            for name in reversed(around)
            if (words := split_name(name)) and not set(words) <= WRAPPERS
        ),
        about,
    )


def _make_table(entity: Words, said: Spoken, keys: dict[Words, str]) -> Table:
    key = keys[entity]
    chosen = sorted(
        said.mentions, key=lambda column: (column != key, -said.mentions[column], column)
    )[:MOST]
    return Table(
        name=name_table(entity),
        key=[key],
        columns=[_make_column(entity, column, said, keys) for column in chosen],
    )


def _make_column(entity: Words, column: str, said: Spoken, keys: dict[Words, str]) -> Column:
    type, words = said.types[column].most_common(1)[0][0], said.words[column]
    other = words[:-1]
    refers = other != entity and keys.get(other) == words[-1] and words[-1] in REFERENCES
    return Column(
        name=column,
        type=_TYPES.get(type, "text"),
        policy=_find_policy(column, type, said, is_key=column == keys[entity]),
        references=f"{name_table(other)}.{words[-1]}" if refers else "",
    )


def _find_policy(column: str, type: str, said: Spoken, *, is_key: bool) -> Policy:
    """Policy of a column: a key that a tool generates is bound on the way, prose may be worded
    differently, and everything else is strict."""
    if is_key and column in said.given and column not in said.taken_by_makers:
        return "exempt"
    return "semantic" if type == "string" and column.rpartition("_")[2] in _PROSE else "hard"


def _drop_dangling(table: Table, tables: Iterable[Table]) -> Table:
    """Remove references to things that have no table."""
    known = {one.name for one in tables}
    columns = [
        one
        if one.references.partition(".")[0] in known
        else one.model_copy(update={"references": ""})
        for one in table.columns
    ]
    return table.model_copy(update={"columns": columns})
