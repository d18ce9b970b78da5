"""Things: for each table what one of it is called, what people go by, and which of a tool's inputs
say what of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Literal

from envmill.toolgraph.words import BOUNDS, CONTROL, IDENTIFIERS, REFERENCES, Words, split_name
from offline.documents.values import Values
from schemas.base import Json
from schemas.database import Table
from schemas.sketch import ToolSketch

LABEL = "name"
"""Column that people go by, whatever the document selects a row by."""
_FRESH = frozenset(("new", "updated", "target", "desired"))
"""First words that say of a value only that it is to be."""
_TAKEN = frozenset(
    ("id", "row", "name", "now", "date", "timedelta", "days", "self", "copy", "rows")
)
_STEERING = frozenset(("token", "dry"))


@dataclass
class Thing:
    """One table."""

    name: str
    """Table."""
    words: Words
    """What one of it is called."""
    key: str
    columns: dict[str, Values] = field(default_factory=dict[str, Values])
    """Column that tools fill → its values."""
    parents: dict[str, str] = field(default_factory=dict[str, str])
    """Column → table it refers to."""
    optional: set[str] = field(default_factory=set[str])
    """Such of them as may be empty."""
    states: list[str] = field(default_factory=list[str])
    """What a row may become, `deleted` aside."""
    ends: bool = False
    """Whether a row can be deleted."""

    @property
    def noun(self) -> str:
        return "_".join(self.words)

    @property
    def said(self) -> str:
        """The noun for people."""
        return render_words(self.words)

    @property
    def many(self) -> str:
        return render_words(self.name.split("_"))

    @property
    def standing(self) -> str:
        """Column of a row's state: `status`, unless the document has one of that name."""
        return "condition" if "status" in self.columns else "status"

    @property
    def lives(self) -> bool:
        return self.ends or bool(self.states)


@dataclass(frozen=True)
class Input:
    """One input of a tool, read."""

    path: str
    schema: Json
    required: bool
    role: Literal["own", "other", "value", "unknown", "steering"]
    about: str = ""
    """Table of a row; column of a value."""


def render_words(words: Sequence[str], between: str = " ") -> str:
    """With a number to the word before it: `ipv6` said as two words would be an amount of six."""
    return re.sub(rf"(?<=[a-z]){between}(?=\d)", "", between.join(words))


def name_things(tables: Sequence[Table]) -> dict[str, Thing]:
    """Table → thing."""
    return {table.name: Thing(table.name, split_name(table.name), table.key[0]) for table in tables}


def read_inputs(tool: ToolSketch, thing: Thing, things: dict[str, Thing]) -> Iterator[Input]:
    """Required ones first, in the document's order, then by name; of lists those alone that the
    tool cannot do without."""
    required: list[str] = tool.inputs.get("required") or []
    properties: dict[str, Json] = tool.inputs.get("properties", {})
    # An order that a tool keeps in the lake, where properties come by name.
    for path in sorted(
        properties, key=lambda one: (required.index(one) if one in required else len(required), one)
    ):
        if properties[path].get("type") == "array" and path not in required:
            continue
        role, about = _find_role(split_name(path) or (path,), thing, things)
        yield Input(path, properties[path], path in required, role, about)


def _find_role(
    words: Words, thing: Thing, things: dict[str, Thing]
) -> tuple[Literal["own", "other", "value", "unknown", "steering"], str]:
    if (
        words[-1] in CONTROL
        or words[0] in BOUNDS | _STEERING
        or words[-2:] in (("client", "token"), ("next", "token"))
    ):
        return "steering", ""
    if words == thing.words or (
        words[-1] in REFERENCES and words[:-1] in ((), thing.words, thing.words[-1:])
    ):
        return "own", thing.name
    for other in things.values():
        if words == other.words or (words[-1] in REFERENCES and words[:-1] == other.words):
            return "other", other.name
    if words[-1] in IDENTIFIERS:
        return "unknown", ""
    return "value", _name_column(words, thing)


def _name_column(words: Words, thing: Thing) -> str:
    bare = words[1:] if words[0] in _FRESH and len(words) > 1 else words
    size = len(thing.words)
    bare = bare[size:] if bare[:size] == thing.words and len(bare) > size else bare
    name = render_words(bare, "_")
    return (
        f"{name}_value"
        if iskeyword(name) or name in _TAKEN or name == thing.noun or not name.isidentifier()
        else name
    )
