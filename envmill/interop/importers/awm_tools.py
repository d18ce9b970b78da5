"""Endpoints of an AWM interface as tools over its tables: those that are one statement on one
table, and why the others are not.

Their handlers are written for a web framework over an object mapper, which is not there; what an
endpoint says of itself is enough where every parameter is a column, a bound of one, or a page.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from envmill.interop.importers.awm_release import ReleasedEndpoint
from envmill.kinds.base import is_forbidden
from schemas.base import Json
from schemas.database import Column, Table
from schemas.environment import Tool

Plan = dict[str, Any]
"""What the program does for one tool."""

_TYPES = {
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "string": "string",
    "boolean": "boolean",
}
_NEEDED = (
    r"""[(,]\s*["`\[]?NAME["`\]]?\s(?!(?:[^,(]|\([^)]*\))*default)(?:[^,(]|\([^)]*\))*not\s+null"""
)
"""A column that may not be left out, in the text of its table."""
_PAGE = frozenset(("limit", "offset"))
_USER = 1
"""Whoever is logged in, as the release's prompts fix it."""
_USERS = "users"
_OWN = re.compile(
    r"\b(?:current|authenticated|logged[- ]in) user\b|\buser_id ?= ?1\b|\bmy\b", re.IGNORECASE
)
"""An endpoint that says it is about rows of whoever is logged in."""
_ORDER = re.compile(
    r"\b(?:latest|newest|oldest|most recent(?:ly)?|top|ranked|sorted|ordered by|random)\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\bcreat(?:e|es|ing)\b", re.IGNORECASE)

PROGRAM = '''"""Released endpoints over their tables, each as the one statement it describes."""

from envmill.runtime import Rejection, now
from envmill.runtime.db import BrokenConstraint

PLANS = $PLANS


class World:
    def __init__(self, db):
        self._db = db

    def _perform(self, plan, given):
        if plan["act"] == "insert":
            return self._insert(plan, given)
        named = [((column, "="), value) for column, value in plan["own"].items()]
        named += [(place, given[name]) for name, place in plan["where"].items() if given.get(name) is not None]
        conditions = [(f'"{column}" {sign} ?', value) for (column, sign), value in named]
        where = " and ".join(text for text, _ in conditions) or "1"
        values = [value for _, value in conditions]
        if plan["act"] == "list":
            return self._find(plan, where, values, given.get("limit", -1), given.get("offset", 0))
        found = self._find(plan, where, values, 1, 0)
        if not found:
            raise Rejection("not_found", "There is no such row in " + plan["table"] + ".")
        if plan["act"] == "get":
            return found[0]
        if plan["act"] == "delete":
            self._db.execute(f'delete from "{plan["table"]}" where {where}', values)
            return found[0]
        new = {column: given[name] for name, column in plan["set"].items() if name in given} | self._stamp(plan)
        if not new:
            raise Rejection("nothing_given", "Say what is to be changed.")
        columns = ", ".join(f'"{column}" = ?' for column in new)
        self._db.execute(f'update "{plan["table"]}" set {columns} where {where}', [*new.values(), *values])
        return self._find(plan, where, values, 1, 0)[0]

    def _find(self, plan, where, values, limit, offset):
        key = ", ".join(f'"{column}"' for column in plan["key"])
        return self._db.query(f'select * from "{plan["table"]}" where {where} order by {key} limit ? offset ?', [*values, limit, offset])

    def _insert(self, plan, given):
        new = {column: given[name] for name, column in plan["set"].items() if name in given} | plan["fill"] | self._stamp(plan)
        columns, marks = ", ".join(f'"{column}"' for column in new), ", ".join("?" * len(new))
        return self._db.query(f'insert into "{plan["table"]}" ({columns}) values ({marks}) returning *', list(new.values()))[0]

    def _stamp(self, plan):
        return {column: now().strftime("%Y-%m-%dT%H:%M:%SZ") for column in plan["stamp"]}


def make_tool(plan):
    def tool(self, /, **given):
        try:
            return self._perform(plan, given)
        except BrokenConstraint as broken:
            raise Rejection("constraint", str(broken)) from None

    return tool


for name, plan in PLANS.items():
    setattr(World, name, make_tool(plan))
'''


class Unmapped(Exception):
    """An endpoint that is more than one statement on one table."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def map_endpoint(
    endpoint: ReleasedEndpoint, tables: Sequence[Table], ddls: Mapping[str, str]
) -> tuple[Tool, Plan]:
    """The tool and what it does, or Unmapped."""
    name = endpoint.operation_id
    if not re.fullmatch(r"[A-Za-z]\w{0,63}", name) or is_forbidden(name):
        raise Unmapped("bad_name", "its operation_id cannot name a tool")
    known = {table.name: table for table in tables}
    if len(endpoint.required_tables) != 1 or endpoint.required_tables[0] not in known:
        raise Unmapped(
            "many_tables",
            f"it works on {', '.join(endpoint.required_tables) or 'no table that is named'}, not "
            "on one table",
        )
    table = known[endpoint.required_tables[0]]
    plan = _plan(endpoint, table, ddls.get(table.name, ""))
    properties: dict[str, Json] = {
        key: _describe(key, one.type, one.description)
        for key, one in endpoint.request_params.items()
    }
    required: list[Json] = [
        key
        for key, one in endpoint.request_params.items()
        if one.required or one.param_type == "path"
    ]
    closed: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    reads = plan["act"] in ("get", "list")
    return Tool(
        name=name,
        description=endpoint.description or endpoint.summary or name,
        parameters=closed,
        effect="query" if reads else "change",
        reads=[table.name],
        writes=[] if reads else [table.name],
    ), plan


def _describe(name: str, kind: str, description: str) -> Json:
    if kind not in _TYPES:
        raise Unmapped("bad_type", f"its parameter {name} is of the type {kind!r}")
    return {"type": _TYPES[kind], "description": description or name.replace("_", " ")}


def _plan(endpoint: ReleasedEndpoint, table: Table, ddl: str) -> Plan:
    columns = {column.name: column for column in table.columns}
    method, text = (
        endpoint.method.upper(),
        f"{endpoint.summary} {endpoint.description} {endpoint.path}",
    )
    places = {
        name: _find_column(name, endpoint, table)
        for name in endpoint.request_params
        if name not in _PAGE
    }
    if unknown := sorted(name for name, place in places.items() if place is None):
        raise Unmapped(
            "no_column",
            f"its parameter {unknown[0]} is no column of {table.name}, nor a bound of one",
        )
    found = {name: place for name, place in places.items() if place}
    sent = {
        name: column
        for name, (column, _) in found.items()
        if endpoint.request_params[name].param_type == "body"
    }
    where = {name: list(place) for name, place in found.items() if name not in sent}
    owner = _find_owner(table)
    given = {column for column, _ in found.values()}
    is_own = owner not in ("", *given) and (
        bool(_OWN.search(text)) or (method != "GET" and owner in table.key and len(table.key) > 1)
    )
    own = {owner: _USER} if is_own else {}
    plan: Plan = {
        "table": table.name,
        "key": list(table.key),
        "own": own,
        "where": where,
        "set": sent,
        "fill": {},
        "stamp": [],
    }
    equal = {column for column, sign in where.values() if sign == "="}
    whole = bool(equal or own) and set(table.key) <= equal | set(own)
    if method == "POST":
        path = re.findall(r"{(\w+)}", endpoint.path)
        if any(
            table.key == [found[name][0]] and not columns[found[name][0]].references
            for name in path
            if name in found
        ):
            raise Unmapped(
                "row_is_there", f"a POST on one row of {table.name} that is there already"
            )
        return plan | {"act": "insert"} | _fill(found, table, columns, ddl, owner)
    if method == "GET":
        return plan | {
            "act": _read(text, table, whole and (endpoint.path.endswith("}") or not where))
        }
    if method not in ("PATCH", "PUT", "DELETE") or not whole:
        raise Unmapped(
            "no_row_named", f"a {method} whose parameters do not name one row of {table.name}"
        )
    stamp = [name for name in columns if name == "updated_at"] if method != "DELETE" else []
    return plan | {"act": "delete" if method == "DELETE" else "update", "stamp": stamp}


def _read(text: str, table: Table, is_one: bool) -> str:
    """One row, or all that are found, in the order of the key; an endpoint that says more than that
    is not mapped."""
    if _MAKES.search(text):
        raise Unmapped("read_creates", f"it creates a row of {table.name} where none is found")
    if not is_one and (told := _ORDER.search(text)):
        raise Unmapped(
            "order_promised",
            f"it promises an order of {table.name} by the word {told[0]!r}, and does not say by "
            "which column",
        )
    return "get" if is_one else "list"


def _find_owner(table: Table) -> str:
    """The column that names whoever is logged in: `user_id`, or the only one that refers to the
    users."""
    if table.name == _USERS:
        return table.key[0] if len(table.key) == 1 else ""
    names = [
        column.name for column in table.columns if column.references.partition(".")[0] == _USERS
    ]
    return (
        "user_id"
        if "user_id" in {column.name for column in table.columns}
        else names[0]
        if len(names) == 1
        else ""
    )


def _find_column(name: str, endpoint: ReleasedEndpoint, table: Table) -> tuple[str, str] | None:
    """Column and how it is compared."""
    columns = [column.name for column in table.columns]
    if name in columns:
        return name, "="
    thing, _, rest = name.rpartition("_")
    says_which = (
        endpoint.request_params[name].param_type != "body" or endpoint.method.upper() == "POST"
    )
    if (
        says_which
        and thing
        and table.name in (thing, f"{thing}s", f"{thing}es", f"{thing.removesuffix('y')}ies")
    ):
        if rest == "id" and len(table.key) == 1:
            return table.key[0], "="
        if rest in columns:
            return rest, "="
    for prefix, sign in (("min_", ">="), ("max_", "<=")):
        if name.startswith(prefix) and name.removeprefix(prefix) in columns:
            return name.removeprefix(prefix), sign
    return None


def _fill(
    found: dict[str, tuple[str, str]],
    table: Table,
    columns: dict[str, Column],
    ddl: str,
    owner: str,
) -> Plan:
    """A new row: what is sent, whoever is logged in, the time; a column that must be there and is
    in none of these stands against it."""
    given = {column for column, _ in found.values()}
    fill = {owner: _USER} if owner not in ("", *given) and table.name != _USERS else {}
    stamp = [name for name in columns if name in ("created_at", "updated_at") and name not in given]
    for name in columns:
        needed = re.search(_NEEDED.replace("NAME", re.escape(name)), ddl, re.IGNORECASE)
        if needed and name not in given | set(fill) | set(stamp) | set(table.key):
            raise Unmapped(
                "row_incomplete", f"a new row of {table.name} needs {name}, which nobody sends"
            )
    return {
        "set": {name: column for name, (column, _) in found.items()},
        "own": {},
        "where": {},
        "fill": fill,
        "stamp": stamp,
    }
