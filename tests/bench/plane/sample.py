"""The sample everything is measured with: a shop of rows, as a program of the jail and as the
messages that drive it."""

from typing import Any

from envmill.runtime.jail.wire import Message

SOURCE = """
from envmill.runtime import Rejection, now

class Shop:
    def __init__(self, state):
        self.rows = state["rows"]

    def find(self, key):
        if key not in self.rows:
            raise Rejection("unknown", "There is no such row.")
        return self.rows[key]

    def order(self, key):
        self.rows[key]["at"] = now().isoformat()
        return self.rows[key]
"""
PARAMETERS = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {"name": name, "description": "Does it.", "parameters": PARAMETERS, "effect": "change"}
    for name in ("find", "order")
]
PROGRAM: Message = {
    "hash": "shop",
    "files": {"shop.py": SOURCE},
    "entry": "shop:Shop",
    "tools": TOOLS,
}
TABLES_SOURCE = """
from envmill.runtime import Rejection, now

class Shop:
    def __init__(self, db):
        self._db = db

    def find(self, key):
        found = self._db.query("select * from rows where key = ?", (key,))
        if not found:
            raise Rejection("unknown", "There is no such row.")
        return found[0]

    def order(self, key):
        self._db.execute("update rows set at = ? where key = ?", (now().isoformat(), key))
        return self.find(key)
"""
TABLES_SCHEMA = (
    "create table rows (key text primary key, name text not null, price real not null, tags text "
    "not null, at text not null)"
)
TABLES_PROGRAM: Message = {
    **PROGRAM,
    "hash": "tables",
    "files": {"shop.py": TABLES_SOURCE, "schema.sql": TABLES_SCHEMA},
}
CLOCK = "2026-03-01T09:00:00Z"
CALL: Message = {"op": "call", "name": "find", "arguments": {"key": "r3"}, "actor": "agent"}
WRITE: Message = {"op": "call", "name": "order", "arguments": {"key": "r3"}, "actor": "agent"}


def make_program(number: int) -> Message:
    """The same program under another hash."""
    return {**PROGRAM, "hash": f"shop{number}", "files": {"shop.py": f"{SOURCE}\n# {number}\n"}}


def make_tables_program(number: int) -> Message:
    """The program over tables under another hash."""
    files: dict[str, str] = TABLES_PROGRAM["files"]
    return {
        **TABLES_PROGRAM,
        "hash": f"tables{number}",
        "files": {**files, "shop.py": f"{TABLES_SOURCE}\n# {number}\n"},
    }


def make_table_rows(kilobytes: int) -> dict[str, Any]:
    """The same rows as a table has them."""
    rows = make_rows(kilobytes)["rows"]
    return {
        "rows": {
            key: {"key": key, **row, "tags": ",".join(row["tags"])} for key, row in rows.items()
        }
    }


def make_rows(kilobytes: int) -> dict[str, Any]:
    """A state of about so many KB of JSON."""
    row = {"name": "a row of the shop", "price": 1.5, "tags": ["a", "b"], "at": ""}
    return {
        "rows": {
            f"r{number}": {**row, "price": number * 1.5}
            for number in range(max(4, kilobytes * 1024 // 76))
        }
    }


def make_reset(kilobytes: int = 8) -> Message:
    """A reset on it, named as the flow process names one."""
    keyed = {"key": f"state{kilobytes}", **({"large": True} if kilobytes > 256 else {})}
    return {"op": "reset", "state": make_rows(kilobytes), "clock": CLOCK, "seed": 7, **keyed}


def make_tables_reset(kilobytes: int = 8) -> Message:
    """The same on tables."""
    return make_reset(kilobytes) | {
        "state": make_table_rows(kilobytes),
        "key": f"tables{kilobytes}",
    }
