"""The sample everything is measured with: a shop of rows, as a program of the jail and as the messages that drive it."""

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
PARAMETERS = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"], "additionalProperties": False}
TOOLS: list[Any] = [{"name": name, "description": "Does it.", "parameters": PARAMETERS, "effect": "change"} for name in ("find", "order")]
PROGRAM: Message = {"hash": "shop", "files": {"shop.py": SOURCE}, "entry": "shop:Shop", "tools": TOOLS}
CLOCK = "2026-03-01T09:00:00Z"
CALL: Message = {"op": "call", "name": "find", "arguments": {"key": "r3"}, "actor": "agent"}
WRITE: Message = {"op": "call", "name": "order", "arguments": {"key": "r3"}, "actor": "agent"}


def make_program(number: int) -> Message:
    """The same program under another hash."""
    return {**PROGRAM, "hash": f"shop{number}", "files": {"shop.py": f"{SOURCE}\n# {number}\n"}}


def make_rows(kilobytes: int) -> dict[str, Any]:
    """A state of about so many KB of JSON."""
    row = {"name": "a row of the shop", "price": 1.5, "tags": ["a", "b"], "at": ""}
    return {"rows": {f"r{number}": {**row, "price": number * 1.5} for number in range(max(4, kilobytes * 1024 // 76))}}


def make_reset(kilobytes: int = 8) -> Message:
    """A reset on it, named as the flow process names one."""
    keyed = {"key": f"state{kilobytes}", **({"large": True} if kilobytes > 256 else {})}
    return {"op": "reset", "state": make_rows(kilobytes), "clock": CLOCK, "seed": 7, **keyed}
