"""Small programs, as text, that the tests of the sandbox run in the jail."""

from typing import Any

from envmill.sandbox import Invoke, Program, Reset
from schemas.environment import Call, Tool

CLOCK = "2026-03-01T09:00:00Z"
RESET = Reset({"items": {}}, CLOCK, 7)

COUNTER = """
import os, signal, time
from envmill.runtime import Rejection, new_id, now, rng

class Counter:
    def __init__(self, state):
        self.items = state["items"]
        self.slow = 0

    def add(self, name):
        if name == "":
            raise Rejection("empty", "Name it.")
        self.items[new_id("item")] = {"name": name, "at": now().isoformat(), "luck": rng().random()}
        return self.items

    def crash(self):
        return 1 / 0

    def crash_oddly(self):
        raise Rejection(object(), 3)

    def hang(self):
        while True: pass

    def hang_deaf(self):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        while True: pass

    def spoil(self):
        self.bad = {1, 2}

    def vanish(self):
        os._exit(0)
"""


def invoke(tool: str, /, **arguments: Any) -> Invoke:
    return Invoke(Call(name=tool, arguments=arguments))


def make_program(source: str, class_name: str, *names: str, **parameters: Any) -> Program:
    """A program whose tools take what `parameters` says, each of them optional."""
    schema = {"type": "object", "properties": parameters, "additionalProperties": False}
    tools = [
        Tool(name=name, description="Does it.", parameters=schema, effect="change")
        for name in names
    ]
    return Program({"program.py": source}, f"program:{class_name}", tools)


def make_counter(source: str = COUNTER) -> Program:
    names = ("add", "crash", "crash_oddly", "hang", "hang_deaf", "spoil", "vanish")
    return make_program(source, "Counter", *names, name={"type": "string"})
