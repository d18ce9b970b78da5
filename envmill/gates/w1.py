"""W1: the interface is one an agent and every consumer can use, and its rules can all be kept."""

import re
from collections.abc import Iterator, Mapping

from envmill.drafting.rules import find_rival_rules
from envmill.gates.base import Built, Finding, Means, drop, keep
from envmill.kinds.base import is_forbidden
from envmill.runtime.schema import check_schema
from schemas.environment import Environment, Tool
from schemas.ledger import ReasonClass

GATE = "W1"
CODES: Mapping[str, ReasonClass] = {}

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


async def look(built: Built, means: Means) -> Finding:  # noqa: ARG001  nothing runs
    """Names, descriptions, parameters; at least one query and one change."""
    environment = built.environment
    faults = [*_lint_set(environment), *(fault for tool in environment.tools for fault in _lint_tool(tool))]
    if faults:
        return drop(GATE, "interface", faults[0], evidence=faults)
    rivals = [f"{one!r} and {other!r} differ in a number alone" for one, other in find_rival_rules(environment.rules)]
    return drop(GATE, "rival_rules", rivals[0], evidence=[*rivals]) if rivals else keep(GATE)


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
    if fault := _find_outside(tool):
        yield f"{tool.name}: {fault}"
        return
    if not tool.actors or not all(tool.actors) or len(set(tool.actors)) < len(tool.actors):
        yield f"{tool.name}: nobody, a nameless actor or one twice may call it"
    if tool.parameters.get("type") != "object" or tool.parameters.get("additionalProperties") is not False:
        yield f"{tool.name}: its parameters are not a closed object"
    for name, schema in tool.parameters.get("properties", {}).items():
        if name.startswith("_") or not schema.get("description"):
            yield f"{tool.name}.{name}: no usable name or no description"


def _find_outside(tool: Tool) -> str:
    """What of the parameters lies outside the schema the runtime validates: it would be promised and never checked."""
    try:
        check_schema(tool.parameters)
    except ValueError as error:
        return str(error)
    return ""
