"""Arguments for a tool's calls, taken from its tests, its state and its description, and odd ones.

tests · rows · words of the interface ──► values per parameter ──► calls: sampled, with odd arguments, at a limit
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.rows import StateRow, list_keys, list_rows
from envmill.gates.exploring.start_states import find_starts
from schemas.base import Json, canonical_json, is_array
from schemas.environment import Call, Tool

NOBODY = "nobody_00000000"
"""An id that no state contains."""

_RANGE = re.compile(
    r"\b(?:from|between) (-?\d+(?:\.\d+)?) (?:to|and) (-?\d+(?:\.\d+)?)", re.IGNORECASE
)
_PLAIN_RANGE = re.compile(
    r"(?:^|[.;:,(])\s*(?:\w+\s+)?(?:from|between) -?\d+(?:\.\d+)? (?:to|and) "
    r"-?\d+(?:\.\d+)?(?:\s+\w+)?\s*(?:$|[.;)])",
    re.IGNORECASE,
)
"""A range that fills a sentence, or the part of it after a comma."""
_OPTIONS = re.compile(r"\bone of:? (.+?)(?:\.(?:\s|$)|;|$)", re.IGNORECASE)
_SEARCH = re.compile(r"\b(parts?|contains?|keywords?|fragment|substring)\b", re.IGNORECASE)
_EXACT = re.compile(
    r"\b(exact(?:ly)?|full|complete|whole|number|code|ids?|identifier|key|e-?mail|serial|plate|"
    r"reference)\b",
    re.IGNORECASE,
)
"""Words of a parameter that takes whole values only, although its tool mentions parts."""
_PART_OF = re.compile(r"\bparts? of\b([^,.;:]*)", re.IGNORECASE)
"""What a tool's description takes parts of, up to the next comma: "by a part of the name, category
or status"."""
_SHORT = 2
_STATES = 8
"""Number of states whose rows are cached."""
_MOST = 24
"""Number of values kept per parameter."""

_ODD: dict[str, tuple[Json, ...]] = {
    "string": (
        "",
        "   ",
        "null",
        "x" * 4000,
        "O'Neill \"; --",
        "日本語 \u202e🚀\n",
        "-1",
        "../../etc/passwd",
        "%s{0}{x}",
    ),
    "integer": (0, -1, 2**53 + 1, -(2**62)),
    "number": (0, -0.5, 1e308, 1e-300, -(10**15)),
    "array": ([], [""], [[]], [None] * 3),
    "object": ({}, {"": None}, {"__class__": "x", "a": {"b": [1]}}),
    "": (None, [], {}, "x", -1.5, True, [{"a": None}]),
}
"""Unusual values that pass the schema, by type. The empty type stands for a schema without one."""


@dataclass(frozen=True)
class Limit:
    """A limit that the interface states."""

    low: float
    high: float
    plain: bool = True
    """Whether the sentence says nothing else."""


class Offers:
    def __init__(self, built: EnvironmentCase) -> None:
        self._tools = {tool.name: tool for tool in built.environment.tools}
        self._tests, self._starts = built.tests, find_starts(built)
        self._rows: dict[int, tuple[Json, Sequence[StateRow]]] = {}

    def sample(self, tool: Tool, state: Json, dice: random.Random) -> Call:
        """A valid call that names existing rows, as far as tests, names and types show them."""
        return _sample(tool, self._list_choices(tool, state), dice)

    def sample_some(self, tool: Tool, state: Json, dice: random.Random, most: int) -> list[Call]:
        """Distinct calls; fewer where there are few choices."""
        drawn, choices = dict[str, Call](), self._list_choices(tool, state)
        for _ in range(2 * most):
            call = _sample(tool, choices, dice)
            drawn.setdefault(canonical_json(call.arguments), call)
            if len(drawn) == most or not choices:
                break
        return list(drawn.values())

    def _list_choices(self, tool: Tool, state: Json) -> dict[str, Sequence[Json]]:
        return {name: self.values(tool, name, state) for name in _properties(tool)}

    def make_odd_calls(self, base: Call, state: Json, dice: random.Random, most: int) -> list[Call]:
        """The call with one odd argument: empty, huge, or an id of another collection or no row."""
        tool = self._tools[base.name]
        odd = [
            base.model_copy(update={"arguments": base.arguments | {name: value}})
            for name in _properties(tool)
            for value in self._odd(tool, name, state)
        ]
        dice.shuffle(odd)
        return odd[:most]

    def make_limit_calls(self, base: Call) -> Iterator[tuple[str, bool, Call]]:
        """Parameter, whether the interface allows the value, and the call with the value at or
        beyond a limit."""
        for name, limit in self.limits(self._tools[base.name]).items():
            inner, whole = (
                (limit.low, limit.high),
                _first_type(_properties(self._tools[base.name])[name]) == "integer",
            )
            for allowed, values in ((True, inner), (False, (limit.low - 1, limit.high + 1))):
                for value in values:
                    settled = int(value) if whole else value
                    yield (
                        name,
                        allowed,
                        base.model_copy(update={"arguments": base.arguments | {name: settled}}),
                    )

    def limits(self, tool: Tool) -> dict[str, Limit]:
        """Parameters whose range the interface states."""
        found: dict[str, Limit] = {}
        for name, schema in _properties(tool).items():
            told = _RANGE.search(schema.get("description", ""))
            if told and _first_type(schema) in ("integer", "number"):
                found[name] = Limit(
                    float(told[1]), float(told[2]), bool(_PLAIN_RANGE.search(schema["description"]))
                )
        return found

    def points(self, tool: str, parameter: str) -> str:
        """Collection whose keys the parameter takes, by the tests' successful calls; empty if there
        is none."""
        collection, attribute = self._pointed.get((tool, parameter), ("", ""))
        return "" if attribute else collection

    def find_column(self, tool: str, parameter: str, state: Json) -> list[tuple[StateRow, Json]]:
        """Rows, each with the value that the parameter takes for it: its key, or an attribute such
        as a name."""
        collection, attribute = self._pointed.get((tool, parameter), ("", ""))
        rows = [row for row in self._list_rows(state) if row.collection == collection]
        if (
            not attribute
            and _first_type(_properties(self._tools[tool]).get(parameter, {})) == "integer"
        ):
            return [(row, int(row.key)) for row in rows if row.key.isdecimal()]
        return [
            (row, row.value.get(attribute) if attribute else row.key)
            for row in rows
            if not attribute or attribute in row.value
        ]

    def _list_rows(self, state: Json) -> Sequence[StateRow]:
        """Rows of a state, cached for all tools' parameters. The cache holds the states, so that no
        other object gets the same `id`."""
        kept = self._rows.get(id(state))
        if kept is None:
            while len(self._rows) >= _STATES:
                self._rows.pop(next(iter(self._rows)))
            kept = self._rows[id(state)] = (state, list(list_rows(state)))
        return kept[1]

    def searches(self, tool: Tool) -> Iterator[str]:
        """Parameters that take a part of a text by their own description. If there is none, the
        tool's description decides."""
        texts = {
            name: str(schema.get("description", ""))
            for name, schema in _properties(tool).items()
            if _first_type(schema) == "string"
            and "enum" not in schema
            and not _read_options(schema)
        }
        if any(map(_SEARCH.search, texts.values())) or not _SEARCH.search(tool.description):
            yield from (name for name in texts if self.takes_part(tool, name))
        else:
            meant = [name for name in texts if _is_part_of(name, tool.description)] or list(texts)
            yield from (
                name
                for name in meant
                if not _EXACT.search(f"{name.replace('_', ' ')} {texts[name]}")
            )

    def describe(self, tool: Tool, name: str) -> str:
        return str(_properties(tool).get(name, {}).get("description", ""))

    def takes_part(self, tool: Tool, name: str) -> bool:
        """Whether the parameter's description says that a part of a text is enough."""
        said = self.describe(tool, name)
        return _SEARCH.search(said) is not None and not re.search(r"\bexact", said, re.IGNORECASE)

    def list_taken(self, tool: Tool, name: str, state: Json) -> Sequence[Json]:
        """Values that a parameter is known to take: those the interface lists, or the column that
        contains its tests' values."""
        schema = _properties(tool)[name]
        return (
            schema.get("enum")
            or _read_options(schema)
            or [value for _, value in self.find_column(tool.name, name, state)]
        )

    def values(self, tool: Tool, name: str, state: Json) -> Sequence[Json]:
        """Values to try for a parameter, most likely ones first; never empty."""
        schema = _properties(tool)[name]
        if "enum" in schema:
            return schema["enum"]
        if told := _read_options(schema):
            return told
        pointed = [value for _, value in self.find_column(tool.name, name, state)]
        if pointed and self.points(tool.name, name):
            return pointed
        found = [
            *self._known.get((tool.name, name), ()),
            *(pointed or self._guess(name, schema, state)),
        ]
        return list({canonical_json(value): value for value in found}.values())[:_MOST] or [None]

    def _guess(self, name: str, schema: Mapping[str, Any], state: Json) -> list[Json]:
        kind = _first_type(schema)
        if kind == "string":
            return _find_namesakes(name, state) or _find_words(state) or ["x"]
        if kind == "array":
            inner = self._guess(name.removesuffix("s"), schema.get("items", {}), state)
            return [[value] for value in inner[:4]]
        if kind == "object":
            parts = schema.get("properties", {})
            return [
                {
                    part: (self._guess(part, inner, state) or [None])[0]
                    for part, inner in parts.items()
                }
            ]
        told = _RANGE.search(schema.get("description", ""))
        if kind in ("integer", "number"):
            low, high = (float(told[1]), float(told[2])) if told else (1.0, 3.0)
            return [
                int(value) if kind == "integer" else value
                for value in (low, (low + high) // 2, high)
            ]
        return [True, False] if kind == "boolean" else [None]

    def _odd(self, tool: Tool, name: str, state: Json) -> Iterator[Json]:
        schema = _properties(tool)[name]
        if "enum" in schema:
            yield from schema["enum"]
            return
        yield from _ODD.get(_first_type(schema) if "type" in schema else "", ())
        if "null" in _types(schema):
            yield None
        if _first_type(schema) == "string":
            yield NOBODY
            pointed = self.points(tool.name, name)
            others = [
                keys[0] for collection, keys in list_keys(state).items() if collection != pointed
            ]
            yield from others[:2]

    @cached_property
    def _known(self) -> dict[tuple[str, str], list[Json]]:
        known: dict[tuple[str, str], list[Json]] = {}
        for call in self._successes():
            for name, value in call.arguments.items():
                held = known.setdefault((call.name, name), [])
                if value not in held:
                    held.append(value)
        return known

    @cached_property
    def _pointed(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Parameter → collection and attribute that contain at least half of its values. An empty
        attribute stands for the key."""
        columns = self._list_columns()
        attributes = {column: held for column, held in columns.items() if column[1]}
        pointed: dict[tuple[str, str], tuple[str, str]] = {}
        for parameter, values in self._known.items():
            texts = [value for value in values if isinstance(value, str)]
            if values and not texts and (home := self._find_counted(parameter[1], values)):
                pointed[parameter] = (home, "")
                continue
            for count, among in ((_count_whole, columns), (_count_parts, attributes)):
                found = {column: count(texts, held) for column, held in among.items()}
                best = max(
                    found,
                    key=lambda column: (found[column], not column[1], len(columns[column])),
                    default=("", ""),
                )
                if best[0] and 2 * found[best] >= len(values):
                    pointed[parameter] = best
                    break
        return pointed

    def _find_counted(self, parameter: str, values: Sequence[Json]) -> str:
        """Collection of rows with numbers as keys that the parameter's name and at least half of
        its values point to."""
        for state in {id(state): state for state in map(self._starts.of, self._tests)}.values():
            stock = StateIndex.of(state)
            home = stock.find_counted(parameter, values[0])
            if home and 2 * sum(bool(stock.find_home(value, parameter)) for value in values) >= len(
                values
            ):
                return home
        return ""

    def _list_columns(self) -> dict[tuple[str, str], set[str]]:
        """Collection and attribute → texts there in the tests' states. An empty attribute stands
        for the key."""
        columns: dict[tuple[str, str], set[str]] = {}
        for state in {id(state): state for state in map(self._starts.of, self._tests)}.values():
            for row in list_rows(state):
                columns.setdefault((row.collection, ""), set()).add(row.key)
                for name, value in row.value.items():
                    if isinstance(value, str):
                        columns.setdefault((row.collection, name), set()).add(value)
        return columns

    def _successes(self) -> Iterator[Call]:
        for test in self._tests:
            yield from test.setup
            if test.expect == "success":
                yield test.call


def _sample(tool: Tool, choices: Mapping[str, Sequence[Json]], dice: random.Random) -> Call:
    required = set(tool.parameters.get("required", ()))
    chosen = [name for name in choices if name in required or dice.random() < 0.4]
    return Call(
        name=tool.name,
        arguments={name: dice.choice(choices[name]) for name in chosen},
        actor=tool.actors[0],
    )


def _count_whole(values: Sequence[str], held: set[str]) -> int:
    return sum(value in held for value in values)


def _count_parts(values: Sequence[str], held: set[str]) -> int:
    """Number of values that are a part of some text, as in a search."""
    texts = "\n".join(held).casefold()
    return sum(len(value) > 2 and value.casefold() in texts for value in values)


def _is_part_of(name: str, description: str) -> bool:
    """Whether the description mentions the parameter where it mentions parts."""
    said = " ".join(_PART_OF.findall(description)).casefold()
    return any(word in said for word in name.casefold().split("_") if len(word) > _SHORT)


def _properties(tool: Tool) -> dict[str, Any]:
    return tool.parameters.get("properties", {})


def _types(schema: Mapping[str, Any]) -> list[str]:
    kind: Json = schema.get("type", [])
    return list(kind) if is_array(kind) else [kind]


def _first_type(schema: Mapping[str, Any]) -> str:
    return next((kind for kind in _types(schema) if kind != "null"), "")


def _read_options(schema: Mapping[str, Any]) -> list[Json]:
    """Options in the description of a text parameter: `One of a, b, c.`"""
    told = _OPTIONS.search(schema.get("description", ""))
    if told is None or _first_type(schema) != "string":
        return []
    options = [part.strip(" '\"`") for part in re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+", told[1])]
    return [option for option in options if option] if len(options) > 1 else []


def _find_namesakes(name: str, state: Json) -> list[Json]:
    """Keys of collections whose names resemble the parameter's, and texts of attributes with its
    name."""
    stem, found = name.removesuffix("_id").removesuffix("_name"), list[Json]()
    for row in list_rows(state):
        if name.endswith("id") and row.collection.rstrip("s").endswith(
            stem.rstrip("s")[:-1] or stem
        ):
            found.append(row.key)
        elif isinstance(row.value.get(name), str):
            found.append(row.value[name])
    return found


def _find_words(state: Json) -> list[Json]:
    rows = list(list_rows(state))
    names = [
        row.value[label]
        for row in rows
        for label in ("name", "title")
        if isinstance(row.value.get(label), str)
    ]
    return [*names[:8], *(row.key for row in rows[:16])]
