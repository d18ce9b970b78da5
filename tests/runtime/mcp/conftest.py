"""One jail for all tests of the server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from envmill.kinds.start import CLOCK
from envmill.runtime.jail.client import Jail
from envmill.runtime.mcp.host import JailHost
from envmill.runtime.mcp.offer import Offer
from envmill.sandbox import Program
from envmill.sandbox.vendor import RUNTIME
from schemas.environment import Tool

SOURCE = """
import os
from envmill.runtime import Blob, Rejection, actors, new_id

class Yard:
    def __init__(self, state):
        self.tools = state["tools"]

    def find(self, name):
        if name not in self.tools:
            raise Rejection("unknown", "There is none.")
        return dict(self.tools[name])

    def names(self):
        return sorted(self.tools)

    def motto(self):
        return "Bring it back."

    def picture(self):
        return [Blob(b"png", "image/png"), {"of": "the yard"}, Blob(b"pdf", "application/pdf")]

    def add(self, name):
        self.tools[new_id("tool")] = {"name": name}
        return {"count": len(self.tools)}

    def crash(self):
        return 1 / 0

    def vanish(self):
        os._exit(1)

    @actors("keeper")
    def empty(self):
        self.tools.clear()
"""
STATE: dict[str, Any] = {"tools": {"T1": {"name": "saw"}}}


def make_tool(called: str, effect: Any = "query", *actors: str, **parameters: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {
            key: {"type": kind, "description": "What."} for key, kind in parameters.items()
        },
        "required": [*parameters],
        "additionalProperties": False,
    }
    return Tool(
        name=called,
        description="Does it.",
        parameters=schema,
        effect=effect,
        actors=[*(actors or ("agent",))],
    )


TOOLS = [
    *map(make_tool, ("names", "motto", "picture")),
    make_tool("find", name="string"),
    make_tool("add", "change", name="string"),
    *(make_tool(name, "change") for name in ("crash", "vanish")),
    make_tool("empty", "change", "keeper"),
]


def make_offer(**changes: Any) -> Offer:
    program = Program({"program.py": SOURCE}, "program:Yard", TOOLS)
    start: dict[str, Any] = {"initial_state": STATE, "clock": CLOCK, "seed": 7}
    return replace(Offer("Yard", program.message, start, instructions="Be kind."), **changes)


@pytest.fixture(scope="package")
def host() -> Iterator[JailHost]:
    with JailHost(make_offer(), lambda: Jail(RUNTIME)) as opened:
        yield opened
