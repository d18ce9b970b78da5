"""W1: the interface is one an agent and every consumer can use."""

import re
from collections.abc import Iterator

from envmill.gates.base import Finding, drop, keep
from envmill.kinds.base import is_forbidden
from schemas.environment import Environment, Tool

GATE = "W1"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def lint_interface(environment: Environment) -> Finding:
    """Names, descriptions, parameters; at least one query and one change."""
    faults = [*_lint_set(environment), *(fault for tool in environment.tools for fault in _lint_tool(tool))]
    return drop(GATE, "interface", faults[0], evidence=faults) if faults else keep(GATE)


def _lint_set(environment: Environment) -> Iterator[str]:
    names = [tool.name for tool in environment.tools]
    if len(set(names)) < len(names):
        yield "two tools share a name"
    for effect in ("query", "change"):
        if not any(tool.effect == effect for tool in environment.tools):
            yield f"no tool is a {effect}"


def _lint_tool(tool: Tool) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name) or is_forbidden(tool.name):
        yield f"{tool.name}: a name consumers cannot use"
    if len(tool.description.split()) < 3:
        yield f"{tool.name}: its description says too little"
    if tool.parameters.get("type") != "object" or tool.parameters.get("additionalProperties") is not False:
        yield f"{tool.name}: its parameters are not a closed object"
    for name, schema in tool.parameters.get("properties", {}).items():
        if name.startswith("_") or not schema.get("description"):
            yield f"{tool.name}.{name}: no usable name or no description"
