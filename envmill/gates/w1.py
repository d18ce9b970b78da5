"""W1: an agent and every consumer can use the interface, and the agent can keep all its rules."""

import re
from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, gather
from envmill.kinds.authoring.rules import find_rival_rules
from envmill.kinds.base import is_forbidden
from envmill.runtime.schema import check_schema
from schemas.environment import Environment, Tool
from schemas.ledger import ReasonClass

GATE = "W1"
CODES: Mapping[str, ReasonClass] = {
    "interface": "proof",
    # How much a description says, and which rules are rivals, is read from words.
    "terse_description": "suspicion",
    "rival_rules": "suspicion",
}

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


async def check(built: EnvironmentCase, means: GateContext) -> Finding:  # noqa: ARG001  nothing runs
    """Checks names, descriptions and parameters. There must be at least one query and one
    change."""
    environment = built.environment
    faults = [
        *_lint_set(environment),
        *(fault for tool in environment.tools for fault in _lint_tool(tool)),
    ]
    found = [drop(GATE, "interface", "; ".join(faults[:5]), evidence=faults)] if faults else []
    return gather(GATE, [*found, *_find_terse(environment.tools), *_find_rivals(environment.rules)])


def _find_terse(tools: Sequence[Tool]) -> Iterator[Finding]:
    for tool in tools:
        if len(tool.description.split()) < 3:
            asked = (
                f"Is {tool.description!r} too little to know what the tool `{tool.name}` does "
                f"with {_list_parameters(tool)}?"
            )
            yield doubt(
                GATE,
                "terse_description",
                f"{tool.name}: its description says little: {tool.description!r}",
                asked,
                tool.model_dump(),
            )


def _list_parameters(tool: Tool) -> str:
    return (
        ", ".join(f"`{name}`" for name in tool.parameters.get("properties", {})) or "no arguments"
    )


def _find_rivals(rules: Sequence[str]) -> Iterator[Finding]:
    for one, other in find_rival_rules(rules):
        asked = (
            f"Is there a case in which a program cannot keep both of these rules? 1. {one} 2. "
            f"{other}"
        )
        yield doubt(
            GATE,
            "rival_rules",
            f"{one!r} and {other!r} differ in a number alone",
            asked,
            [one, other],
        )


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
    if not tool.description.strip():
        yield f"{tool.name}: it has no description"
    if fault := _find_outside(tool):
        yield f"{tool.name}: {fault}"
        return
    if not tool.actors or not all(tool.actors) or len(set(tool.actors)) < len(tool.actors):
        yield f"{tool.name}: nobody, a nameless actor or one twice may call it"
    if (
        tool.parameters.get("type") != "object"
        or tool.parameters.get("additionalProperties") is not False
    ):
        yield f"{tool.name}: its parameters are not a closed object"
    for name, schema in tool.parameters.get("properties", {}).items():
        if name.startswith("_") or not schema.get("description"):
            yield f"{tool.name}.{name}: no usable name or no description"


def _find_outside(tool: Tool) -> str:
    """Parts of the parameters outside the schema that the runtime validates. The interface would
    promise them, but the runtime would never check them."""
    try:
        check_schema(tool.parameters)
    except ValueError as error:
        return str(error)
    return ""
