"""Real model-written environments as programs, with the thin class that the importer puts around
them, and states to start them from."""

import ast
import json
from pathlib import Path
from typing import Any

from envmill.interop.importers.adapter import write_adapter
from envmill.interop.importers.shape import ClassShape, read_shape
from envmill.sandbox import Program
from schemas.environment import Tool


def read_environments(folder: Path) -> dict[str, dict[str, Any]]:
    """Every released environment by id, with its scenarios."""
    environments: dict[str, dict[str, Any]] = json.loads(
        (folder / "environments.json").read_text(encoding="utf-8")
    )
    scenarios: list[dict[str, Any]] = json.loads(
        (folder / "scenarios.json").read_text(encoding="utf-8")
    )
    return {
        key: environment
        | {"scenarios": [scenario for scenario in scenarios if scenario["env_id"] == key]}
        for key, environment in environments.items()
    }


def adapt(environment: dict[str, Any]) -> Program:
    """The program."""
    functions = [tool["function"] for tool in environment["tools"]]
    tools = [
        Tool(
            name=one["name"],
            description=one["description"],
            parameters=one["parameters"],
            effect="change",
        )
        for one in functions
    ]
    shape = read_shape(environment["env_class_code"], environment["env_class_name"])
    assert isinstance(shape, ClassShape), shape
    around = write_adapter(
        environment["env_class_name"], [tool.name for tool in tools], takes_state=shape.takes_state
    )
    return Program(
        {"program.py": environment["env_class_code"], "adapter.py": around}, "adapter:World", tools
    )


def list_starts(environment: dict[str, Any], empty: dict[str, Any]) -> list[dict[str, Any]]:
    """States of its scenarios; where there are none, its empty collections with a few rows that
    bear every field it knows."""
    if environment["scenarios"]:
        return [scenario["init_config"] for scenario in environment["scenarios"]]
    fields = _list_fields(environment["env_class_code"])
    rows = {
        key: {name: _fill(kind, name, key) for name, kind in fields.items()}
        for key in ("k1", "k2", "k3")
    }
    return [empty, {name: rows if value == {} else value for name, value in empty.items()}]


def _list_fields(code: str) -> dict[str, str]:
    """Fields of the row types that it declares, read, not run."""
    bodies = [node.body for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    declared = [
        node
        for body in bodies
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return {ast.unparse(node.target): ast.unparse(node.annotation).lower() for node in declared}


def _fill(kind: str, name: str, key: str) -> Any:
    if name.endswith("id"):
        return key
    if "date" in name or "time" in name:
        return 1715565600.0 if "float" in kind else "2024-05-13T02:00:00"
    plain: dict[str, Any] = {
        "str": "active",
        "int": 2,
        "float": 2.5,
        "bool": True,
        "list": ["k1"],
        "dict": {"k1": "active"},
    }
    return next((value for word, value in plain.items() if kind.startswith(word)), None)
