"""Promises of tools in short: a reply says once what each column holds, and its tools name columns.

columns {"loans": {"member_id": "members"}} + "loans.member_id" ──► {"of": "loans.member_id", "sort": "key", "refers": "members"}

What a column holds is a sort or a table. After it may stand `?` where it may be null, `unique`, `>=
0`, and `: free | out`, its texts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard, get_args

from schemas.base import Json, is_array, is_object
from schemas.database import Sort
from schemas.statements import list_statements

_KEY = "id"
_SORTS: tuple[str, ...] = get_args(Sort)
_NUMBERS = ("whole", "decimal")
_HOLDS = re.compile(
    r"(?P<sort>\w+)(?P<empty>\?)?(?P<unique> unique)?(?: >= (?P<least>-?\d+))?(?:: (?P<values>[^|"
    r"]+(\|[^|]+)*))?"
)
_HINT = "a column holds `text`, `members?`, `text unique`, `whole >= 0` or `text: free | out`"


@dataclass(frozen=True)
class _Held:
    """What a column holds."""

    sort: str
    refers: str = ""
    empty: bool = False
    unique: bool = False
    values: tuple[str, ...] = ()
    least: int | None = None

    def mention(self, place: str) -> dict[str, Json]:
        more: dict[str, Json] = {
            "empty": self.empty,
            "unique": self.unique,
            "values": list(self.values),
        }
        usual = {"of": place, "sort": self.sort, "refers": self.refers}
        return (
            usual
            | {name: value for name, value in more.items() if value}
            | ({"least": self.least} if self.least is not None else {})
        )


_KEYED = _Held("key")
_Columns = Mapping[str, Mapping[str, _Held]]


def expand_tools(tools: Json, columns: Json) -> Json:
    """Tools with whole mentions in place of names; ValueError, in words for the author, where a
    name or a column says nothing. What is no
    reply in short stays as it is."""
    if not is_array(tools) or not _is_columns(columns):
        return tools
    held = {
        table: {name: _read_holds(f"{table}.{name}", text, columns) for name, text in one.items()}
        for table, one in columns.items()
    }
    for tool in tools:
        if _is_promise(tool):
            _check_statements(tool, held)
    return [_expand(tool, held) if _is_promise(tool) else tool for tool in tools]


def _read_holds(place: str, text: str, columns: Mapping[str, Json]) -> _Held:
    found = _HOLDS.fullmatch(text.strip())
    sort = found["sort"] if found else ""
    if found is None or (sort not in _SORTS and sort not in columns):
        raise ValueError(
            f"`columns` says that {place} holds {text!r}: write {', '.join(_SORTS)} or a table of "
            f"`columns`; {_HINT}"
        )
    if (found["values"] and sort != "text") or (found["least"] and sort not in _NUMBERS):
        raise ValueError(
            f"`columns` says that {place} holds {text!r}: only a text lists its values, and only "
            "a number has a least one"
        )
    values = tuple(value.strip() for value in (found["values"] or "").split("|") if value.strip())
    refers = "" if sort in _SORTS else sort
    least = int(found["least"]) if found["least"] else None
    return _Held(
        "key" if refers else sort,
        refers,
        bool(found["empty"]),
        bool(found["unique"]),
        values,
        least,
    )


def _check_statements(tool: Mapping[str, Json], columns: _Columns) -> None:
    """A statement on a column that there is not, or a value that the column does not list, can hold
    in no database."""
    texts = [
        text
        for name in ("requires", "ensures")
        for text in tool.get(name) or ()
        if isinstance(text, str)
    ]
    for one in list_statements(texts):
        held = columns.get(one.table, {}).get(one.column)
        if held is None:
            raise ValueError(
                f"{tool.get('name')} says something of {one.place}, which `columns` does not list"
            )
        if strange := [
            value for value in one.values if held.sort == "text" and value not in held.values
        ]:
            listed = f"lists only {', '.join(held.values)}" if held.values else "lists no values"
            raise ValueError(
                f"{tool.get('name')} says that {one.place} is {strange[0]!r}, and the column "
                f"{listed}: write `text: a | b`"
            )


def _is_columns(columns: Json) -> TypeGuard[dict[str, dict[str, str]]]:
    return is_object(columns) and all(
        is_object(held) and all(isinstance(holds, str) for holds in held.values())
        for held in columns.values()
    )


def _is_promise(tool: Json) -> TypeGuard[dict[str, Json]]:
    """Whether its parts have the form that they are read in; where one has not, the record that is
    validated next says so."""
    if not is_object(tool) or not is_object(tool.get("takes", {})):
        return False
    lists = [tool.get(name, []) for name in ("looks_at", "sets", "makes")]
    return all(map(is_array, lists)) and all(isinstance(table, str) for table in lists[-1])


def _expand(tool: dict[str, Json], columns: _Columns) -> dict[str, Json]:
    """A new row has all its columns set, and a reference is looked up: neither has to be said."""
    made = [
        f"{table}.{name}"
        for table in tool.get("makes", [])
        for name in columns.get(table, ())
        if name != _KEY
    ]
    takes = {
        name: next(_list_mentions(place, columns)) for name, place in tool.get("takes", {}).items()
    }
    keys = [
        f"{taken['refers']}.{_KEY}"
        for taken in takes.values()
        if is_object(taken) and taken.get("refers")
    ]
    looks = _list_all([*tool.get("looks_at", []), *keys], columns)
    sets = [
        one
        for one in _list_all([*tool.get("sets", []), *made], columns)
        if not (is_object(one) and str(one.get("of")).endswith(f".{_KEY}"))
    ]
    return tool | {"takes": takes, "looks_at": looks, "sets": sets}


def _list_all(places: list[Json], columns: _Columns) -> list[Json]:
    found: list[Json] = []
    for place in places:
        found += [one for one in _list_mentions(place, columns) if one not in found]
    return found


def _list_mentions(place: Json, columns: _Columns) -> Iterator[Json]:
    """The column of a name, or all columns where it names a table."""
    if not isinstance(place, str):
        yield place
        return
    table, dot, column = place.partition(".")
    held = columns.get(table)
    if held is None or (dot and column != _KEY and column not in held):
        known = (
            f"of {table} it has {', '.join([_KEY, *held])}"
            if held
            else f"its tables are {', '.join(columns)}"
        )
        raise ValueError(f"a tool names {place!r}, which `columns` does not list: {known}")
    for name in [column] if dot else dict.fromkeys([_KEY, *held]):
        yield (_KEYED if name == _KEY else held[name]).mention(f"{table}.{name}")
