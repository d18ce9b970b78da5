"""Promises of tools in short: a reply says once what each column holds, and its tools name columns.

columns {"loans": {"member_id": "members"}} + "loans.member_id" ──► {"of": "loans.member_id", "sort": "key", "refers": "members"}
"""

from collections.abc import Iterator, Mapping
from typing import TypeGuard, get_args

from schemas.base import Json, is_array, is_object
from schemas.database import Sort

_KEY = "id"
_SORTS: tuple[str, ...] = get_args(Sort)
_Columns = Mapping[str, Mapping[str, str]]


def expand_tools(tools: Json, columns: Json) -> Json:
    """Tools with whole mentions in place of names; ValueError, in words for the author, where a name or a column says nothing. What is no
    reply in short stays as it is."""
    if not is_array(tools) or not _is_columns(columns):
        return tools
    for table, held in columns.items():
        for column, holds in held.items():
            if holds not in _SORTS and holds not in columns:
                raise ValueError(f"`columns` says that {table}.{column} holds {holds!r}: write {', '.join(_SORTS)} or a table of `columns`")
    return [_expand(tool, columns) if _is_promise(tool) else tool for tool in tools]


def _is_columns(columns: Json) -> TypeGuard[dict[str, dict[str, str]]]:
    return is_object(columns) and all(
        is_object(held) and all(isinstance(holds, str) for holds in held.values()) for held in columns.values()
    )


def _is_promise(tool: Json) -> TypeGuard[dict[str, Json]]:
    """Whether its parts have the form that they are read in; where one has not, the record that is validated next says so."""
    if not is_object(tool) or not is_object(tool.get("takes", {})):
        return False
    lists = [tool.get(name, []) for name in ("looks_at", "sets", "makes")]
    return all(map(is_array, lists)) and all(isinstance(table, str) for table in lists[-1])


def _expand(tool: dict[str, Json], columns: _Columns) -> dict[str, Json]:
    """A new row has all its columns set, and a reference is looked up: neither has to be said."""
    made = [f"{table}.{name}" for table in tool.get("makes", []) for name in columns.get(table, ()) if name != _KEY]
    takes = {name: next(_list_mentions(place, columns)) for name, place in tool.get("takes", {}).items()}
    keys = [f"{taken['refers']}.{_KEY}" for taken in takes.values() if is_object(taken) and taken.get("refers")]
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
        known = f"of {table} it has {', '.join([_KEY, *held])}" if held else f"its tables are {', '.join(columns)}"
        raise ValueError(f"a tool names {place!r}, which `columns` does not list: {known}")
    for name in [column] if dot else dict.fromkeys([_KEY, *held]):
        holds = "key" if name == _KEY else held[name]
        refers = holds if holds not in _SORTS else ""
        yield {"of": f"{table}.{name}", "sort": "key" if refers else holds, "refers": refers}
