"""Arguments of the wrong type, past every schema: what a released program does with them by
itself."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from envmill.interop.bundles import Folder
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Program, Reset, Sandbox
from schemas.environment import Call, Tool

WRONG: dict[str, list[Any]] = {
    "string": [["k1"], {"k1": 1}, 7],
    "number": ["x", ["k1"]],
    "integer": ["x", ["k1"]],
    "array": [7, {"k1": 1}],
    "object": [7, ["k1"]],
    "boolean": [["k1"], "x"],
}
RIGHT: dict[str, Any] = {
    "string": "k1",
    "number": 2.5,
    "integer": 2,
    "array": ["k1"],
    "object": {"k1": "x"},
    "boolean": True,
}


@dataclass(frozen=True)
class Abuse:
    """What came of it in one environment."""

    tools: int
    """Tools with parameters."""
    crashing: tuple[str, ...]
    """Those that a wrong type brings down."""
    errors: Counter[str]
    """Exception → calls that ended in it."""


async def abuse(folder: Folder, sandbox: Sandbox) -> Abuse:
    """Each parameter of each tool in turn gets values of other types, on every known state; nothing
    validates them."""
    environment = folder.environment
    open_tools = [
        tool.model_copy(update={"parameters": {"type": "object"}}) for tool in environment.tools
    ]
    program = Program(environment.files, environment.entry, open_tools)
    calls = [call for tool in environment.tools for call in list_calls(tool)]
    crashing, errors = dict[str, None](), Counter[str]()
    for state in [
        *folder.states.values(),
        *(scenario.initial_state for scenario in folder.scenarios),
    ]:
        reset = Reset(state, CLOCK, 0)
        seen = await sandbox.play(
            program, [step for call in calls for step in (reset, Invoke(call))], hashes="none"
        )
        for call, one in zip(calls, seen[1::2], strict=True):
            if one.outcome == "failure":
                crashing[call.name] = None
                errors[name_error(one.message)] += 1
    return Abuse(
        len([tool for tool in environment.tools if tool.parameters.get("properties")]),
        tuple(crashing),
        errors,
    )


def list_calls(tool: Tool) -> list[Call]:
    """One parameter wrong at a time."""
    kinds = {
        name: name_type(schema) for name, schema in tool.parameters.get("properties", {}).items()
    }
    right = {name: RIGHT[kind] for name, kind in kinds.items()}
    return [
        Call(name=tool.name, arguments={**right, name: value})
        for name, kind in kinds.items()
        for value in WRONG[kind]
    ]


def name_type(schema: dict[str, Any]) -> str:
    """The first type a schema allows."""
    kinds = schema.get("type", "string")
    return kinds if isinstance(kinds, str) else kinds[0]


def name_error(message: str) -> str:
    """The exception's name, as the traceback's last line begins."""
    found = re.findall(r"^(\w+(?:Error|Exception|Interrupt|Iteration))\b", message, re.MULTILINE)
    return found[-1] if found else "other"
