"""Honest programs: what model-written tools use of the standard library, one method body each (see
`programs.toml`)."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from envmill.sandbox import Program
from schemas.environment import Tool

ROWS = {
    "r1": {"name": "Ada", "amount": 12.5, "tags": ["a", "b"]},
    "r2": {"name": "Bo", "amount": 7, "tags": []},
}
_CLASS = """
class Program:
    def __init__(self, state):
        self.rows = state["rows"]

    def use(self):
"""


@dataclass(frozen=True)
class Honest:
    """One of them. It runs in the jail alone."""

    body: str
    """The method's body."""
    returns: Any = True
    """What it returns, as JSON."""
    head: str = ""
    """What stands at the top of its file."""

    def program(self) -> Program:
        """The program around the body."""
        lines = [self.head, _CLASS, indent(self.body, " " * 8)]
        tool = Tool(
            name="use",
            description="Use it.",
            parameters={"type": "object", "properties": {}},
            effect="change",
        )
        return Program({"program.py": "\n".join(lines) + "\n"}, "program:Program", [tool])


def read_programs() -> dict[str, Honest]:
    """All of them by name."""
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        name: Honest(entry["body"], json.loads(entry["returns"]), entry.get("head", ""))
        for name, entry in found.items()
    }


PROGRAMS = read_programs()
