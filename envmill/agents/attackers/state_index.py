"""The stock of values a state offers: rows of each collection, and what their fields hold, by
name."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schemas.base import Json, is_array, is_object

_MOST = 64
"""Values kept of one field: a large state offers more of the same."""


@dataclass(frozen=True)
class StateIndex:
    """What lies about in a state."""

    rows: dict[str, dict[str, Json]]
    """Collection → key → row; collections that are lists of rows with an id count as well."""
    fields: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """Field → plain values it has in any row, each once, in order of appearance."""
    _pointed: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    _counted: dict[str, bool] = field(default_factory=dict[str, bool], repr=False)

    @classmethod
    def of(cls, state: Mapping[str, Json]) -> "StateIndex":
        """What was made of a state of late serves again: nobody writes on a state, and a dozen
        gates ask."""
        for known, stock in _OF_LATE:
            if known is state:
                return stock
        stock = cls._read(state)
        _OF_LATE.append((state, stock))
        return stock

    @classmethod
    def _read(cls, state: Mapping[str, Json]) -> "StateIndex":
        rows = {name: found for name, value in state.items() if (found := read_rows(value))}
        fields: dict[str, dict[tuple[str, Json], None]] = defaultdict(dict)
        for name, value in _list_plain(rows, state):
            if len(fields[name]) < _MOST:
                fields[name][type(value).__name__, value] = None
        return cls(rows, {name: [value for _, value in found] for name, found in fields.items()})

    def find_pointed(self, parameter: str) -> str:
        """The collection a parameter's name points into (`member_id`, `from_account`, `tool` …);
        empty when none."""
        if parameter not in self._pointed:
            self._pointed[parameter] = self._find_pointed(parameter)
        return self._pointed[parameter]

    def _find_pointed(self, parameter: str) -> str:
        words = _split(parameter)
        if len(words) > 1 and words[-1] in ("id", "key", "number"):
            words.pop()
        for start in range(len(words)):
            wanted = words[start:]
            for name in self.rows:
                if _singular(_split(name)[-len(wanted) :]) == _singular(wanted):
                    return name
        return ""

    def find_home(self, value: Json, name: str = "") -> str:
        """The collection that has a row under this key; empty when none. Of a number the parameter
        or column says which one."""
        if isinstance(value, str):
            return next((home for home, rows in self.rows.items() if value in rows), "")
        home = self.find_counted(name, value)
        return home if home and str(value) in self.rows[home] else ""

    def find_counted(self, name: str, value: Json) -> str:
        """The collection of numbered rows that a number under this name is a key of, there or yet
        to come; empty for an amount."""
        home = (
            self.find_pointed(name)
            if name and isinstance(value, int) and not isinstance(value, bool)
            else ""
        )
        return home if home and self._is_counted(home) else ""

    def offer_keys(self, home: str, schema: Mapping[str, Json]) -> list[Json]:
        """Keys of a collection in the type a parameter takes."""
        keys: list[Json] = list(self.rows[home])
        kind: Json = schema.get("type", "string")
        whole = "integer" in kind if is_array(kind) else kind == "integer"
        return [int(key) for key in keys] if whole and self._is_counted(home) else keys

    def _is_counted(self, home: str) -> bool:
        if home not in self._counted:
            self._counted[home] = all(key.isdecimal() for key in self.rows[home])
        return self._counted[home]

    def namesakes(self, parameter: str) -> list[Json]:
        """Values of fields called like the parameter, or like its end: `new_status` takes a
        status."""
        words = _split(parameter)
        for start in range(len(words)):
            if found := self.fields.get("_".join(words[start:])):
                return found
        return []

    def list_keys(self) -> list[str]:
        return [key for rows in self.rows.values() for key in rows]

    def labels(self) -> list[str]:
        """What rows are called: texts with a letter that are no key and no status shared by
        many."""
        named = [
            value
            for name in ("name", "title", "label", "full_name", "number")
            for value in self.fields.get(name, ())
        ]
        return [value for value in named if isinstance(value, str)]


_OF_LATE: deque[tuple[Mapping[str, Json], StateIndex]] = deque(maxlen=4)


def read_rows(value: Json) -> dict[str, Json]:
    """A collection as key → row."""
    if is_object(value):
        return value if value and all(is_object(row) for row in value.values()) else {}
    if (
        is_array(value)
        and value
        and all(is_object(row) and isinstance(row.get("id"), str) for row in value)
    ):
        return {row["id"]: row for row in value}
    return {}


def _list_plain(
    rows: Mapping[str, Mapping[str, Json]], state: Mapping[str, Json]
) -> Iterator[tuple[str, Json]]:
    for found in rows.values():
        for row in found.values():
            yield from ((name, value) for name, value in row.items() if _is_plain(value))
    yield from ((name, value) for name, value in state.items() if _is_plain(value))


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _split(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def _singular(words: list[str]) -> str:
    text = "_".join(words)
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("s", ""),
    ):
        if text.endswith(ending) and not text.endswith("ss"):
            return text.removesuffix(ending) + instead
    return text
