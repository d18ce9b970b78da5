"""What makes a real model-written environment a program: its own text as it is, and a thin class around it, as text too.

State is loaded by setting every key as an attribute; a tool answers `{"success": …}`, which becomes a reply or a rejection.
"""

import ast
import json
from pathlib import Path
from typing import Any

from envmill.sandbox import Program
from schemas.environment import Tool

_AROUND = """
from envmill.runtime import Rejection
from program import CLASS as Theirs

def plain(value):
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return plain(vars(value)) if hasattr(value, "__dict__") else str(value)

class World:
    def __init__(self, state):
        self._theirs = Theirs(state) if Theirs.__init__.__code__.co_argcount > 1 else Theirs()
        for name, value in state.items():
            setattr(self._theirs, name, value)
        self._show()

    def _show(self):
        for name, value in vars(self._theirs).items():
            if not name.startswith("_"):
                setattr(self, name, plain(value))

    def _call(self, name, arguments):
        try:
            reply = getattr(self._theirs, name)(**arguments)
        finally:
            self._show()
        if isinstance(reply, dict) and reply.get("success") is False:
            raise Rejection("refused", str(reply.get("error")))
        return plain(reply)

def tool(wanted):
    return lambda self, /, **arguments: self._call(wanted, arguments)

for wanted in TOOLS:
    setattr(World, wanted, tool(wanted))
"""
_CHECK = """
initial_state = None

def check(initial, final):
    global initial_state
    initial_state = initial
    return check_func(final)
"""


def read_environments(folder: Path) -> dict[str, dict[str, Any]]:
    """Every released environment by id, with its scenarios."""
    environments: dict[str, dict[str, Any]] = json.loads((folder / "environments.json").read_text(encoding="utf-8"))
    scenarios: list[dict[str, Any]] = json.loads((folder / "scenarios.json").read_text(encoding="utf-8"))
    return {
        key: environment | {"scenarios": [scenario for scenario in scenarios if scenario["env_id"] == key]}
        for key, environment in environments.items()
    }


def adapt(environment: dict[str, Any]) -> Program:
    """The program."""
    functions = [tool["function"] for tool in environment["tools"]]
    tools = [Tool(name=one["name"], description=one["description"], parameters=one["parameters"], effect="change") for one in functions]
    around = _AROUND.replace("CLASS", environment["env_class_name"]).replace("TOOLS", repr([tool.name for tool in tools]))
    return Program({"program.py": environment["env_class_code"], "adapter.py": around}, "adapter:World", tools)


def list_starts(environment: dict[str, Any], empty: dict[str, Any]) -> list[dict[str, Any]]:
    """States of its scenarios; where there are none, its empty collections with a few rows that bear every field it knows."""
    if environment["scenarios"]:
        return [scenario["init_config"] for scenario in environment["scenarios"]]
    fields = _list_fields(environment["env_class_code"])
    rows = {key: {name: _fill(kind, name, key) for name, kind in fields.items()} for key in ("k1", "k2", "k3")}
    return [empty, {name: rows if value == {} else value for name, value in empty.items()}]


def _list_fields(code: str) -> dict[str, str]:
    """Fields of the row types that it declares, read, not run."""
    bodies = [node.body for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    declared = [node for body in bodies for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    return {ast.unparse(node.target): ast.unparse(node.annotation).lower() for node in declared}


def _fill(kind: str, name: str, key: str) -> Any:
    if name.endswith("id"):
        return key
    if "date" in name or "time" in name:
        return 1715565600.0 if "float" in kind else "2024-05-13T02:00:00"
    plain: dict[str, Any] = {"str": "active", "int": 2, "float": 2.5, "bool": True, "list": ["k1"], "dict": {"k1": "active"}}
    return next((value for word, value in plain.items() if kind.startswith(word)), None)


def adapt_check(source: str) -> str:
    """One of its checks."""
    return source + _CHECK
