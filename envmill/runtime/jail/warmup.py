"""A rehearsal in the zygote: a program of our own is played there, so that every session inherits
code that has run before.

The interpreter rewrites code while it warms up. Done here, those pages stay shared: a session has a
third less memory of its own, and its first calls are as fast as later ones.
"""

import linecache
import sys
from typing import Any

from envmill.runtime import virtual
from envmill.runtime.jail import seccomp
from envmill.runtime.jail.loop import SessionLoop
from envmill.runtime.jail.wire import Channel, Message, decode, encode
from envmill.runtime.program import ProgramImporter
from envmill.runtime.world import WORLD

ROUNDS = 24
"""The interpreter settles on how to run a function after some dozen calls."""

_SOURCE = """
import json
from envmill.runtime import Rejection, new_id, now, rng

class Rehearsal:
    def __init__(self, state):
        self.rows = state["rows"]
        self.names = []

    def read(self, key):
        if key not in self.rows:
            raise Rejection("unknown", "There is none.")
        return self.rows[key]

    def write(self, key, amount):
        self.rows[key] = {"at": now().isoformat(), "id": new_id("row"), "amount": amount, "luck": rng().random()}
        self.names.append(key)
        return sorted(self.rows)
"""
_PARAMETERS = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "minLength": 1},
        "amount": {"type": "integer", "minimum": 0},
    },
    "required": ["key"],
    "additionalProperties": False,
}
_TOOLS: list[Any] = [
    {"name": name, "description": "", "parameters": _PARAMETERS, "effect": "change"}
    for name in ("read", "write")
]
_STATE = {
    "rows": {
        f"r{number}": {"at": "", "id": "x", "amount": number, "tags": ["a", None, True, 1.5]}
        for number in range(12)
    }
}


class _Silence(Channel):
    """A channel to nobody."""

    def __init__(self) -> None:
        super().__init__(-1)

    def write(self, frame: bytes) -> None:
        decode(frame[4:])


def rehearse() -> None:
    """Play, then leave the interpreter as it was."""
    if seccomp.supported():
        for names in (seccomp.TEMPLATE, seccomp.SESSION):
            seccomp.prepare(names)
    finders, modules = list(sys.meta_path), set(sys.modules)
    source = ProgramImporter({"rehearsal.py": _SOURCE}, "rehearsal:Rehearsal")
    for number in range(ROUNDS):
        loop = SessionLoop(_Silence(), source, _TOOLS)
        message = decode(encode({"steps": _list_steps(number)})[4:])
        loop.play(number, message["steps"])
        for step in message["steps"][1:4]:
            loop.play(number, [step], "none")
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    linecache.cache.pop("rehearsal.py", None)
    WORLD.reset(0, 0)
    virtual.reset()


def _list_steps(number: int) -> list[Message]:
    calls: list[Message] = [
        {"op": "call", "name": "read", "arguments": {"key": "r3"}, "actor": "agent"},
        {
            "op": "call",
            "name": "write",
            "arguments": {"key": "r4", "amount": number},
            "actor": "agent",
        },
        {"op": "call", "name": "read", "arguments": {"key": "none"}, "actor": "agent"},
        {"op": "call", "name": "read", "arguments": {"amount": -1}, "actor": "agent"},
    ]
    reset: Message = {
        "op": "reset",
        "key": f"k{number % 2}",
        "state": _STATE,
        "clock": "2026-03-01T09:00:00Z",
        "seed": number,
    }
    return [reset, *calls, {"op": "advance", "seconds": 1}, {"op": "state"}]
