"""The interface of a domain: what `tools.json` shows of each tool, held to the program that answers."""

from collections.abc import Callable

from envmill.base.errors import BuildError
from envmill.interop.importers.tau2.programs import CLASS, DomainProgram
from envmill.interop.importers.tau2.release import DomainData
from envmill.interop.importers.tools.shaping import ForeignReference, Shaper
from envmill.kinds import stateful
from envmill.runtime.schema import check_schema
from schemas.base import Json, is_array, is_object
from schemas.environment import Effect, Tool

Tell = Callable[[str, str, str], None]
"""(code, tool, detail)."""
_READING = (
    "get_",
    "check_",
    "list_",
    "search_",
    "find_",
    "run_speed",
    "calculate",
    "can_send",
    "transfer_to_human",
)


def map_tools(domain: DomainData, program: DomainProgram, tell: Tell) -> list[Tool]:
    """The program's tools as `tools.json` words them. A tool that only one of both has is told of; BuildError where there is no tool."""
    told = dict(_list_told(domain))
    effects: dict[str, Effect] = {
        name: _find_effect(name, told.get(name)) for name in program.actors
    }
    tools = list(program.tools) or stateful.derive_tools(
        program.files["program.py"], CLASS, effects
    )
    for name in sorted(told.keys() - program.actors.keys()):
        tell("no_function", name, "tools.json offers it, and the program has no such tool")
    if told:
        for name in sorted(program.actors.keys() - told.keys()):
            tell(
                "not_offered",
                name,
                "the program has it, and tools.json does not offer it; left out",
            )
        tools = [_word(tool, told[tool.name], tell) for tool in tools if tool.name in told]
    if not any(tool.actors == ["agent"] for tool in tools):
        raise BuildError("none of the agent's tools has a function in the program")
    return tools


def _list_told(domain: DomainData) -> list[tuple[str, dict[str, Json]]]:
    rows = domain.tools.get("tools") if domain.tools else None
    return [(str(row.get("name")), row) for row in rows if is_object(row)] if is_array(rows) else []


def _find_effect(name: str, told: dict[str, Json] | None) -> Effect:
    """`tools.json` says what changes the state; without it, the name does."""
    if told is not None:
        return "change" if told.get("mutates_state", told.get("kind") == "write") else "query"
    return "query" if name.startswith(_READING) else "change"


def _word(tool: Tool, told: dict[str, Json], tell: Tell) -> Tool:
    """Description and schema as released; the schema in the subset that a session validates, and closed."""
    given = told.get("parameters")
    side = "user" if told.get("side") == "user" else "agent"
    if side not in tool.actors:
        tell("other_side", tool.name, f"tools.json gives it to the {side}; the program does not")
    try:
        if not is_object(given):
            raise ValueError("its parameters are no object")
        shaped = Shaper(given, lambda code, part: tell(code, tool.name, part)).shape(given)
        properties = shaped.get("properties", {})
        if not is_object(properties):
            raise ValueError("its properties are no object")
        own = tool.parameters.get("properties", {})
        described = {
            name: {"description": own.get(name, {}).get("description") or name.replace("_", " ")}
            | schema
            for name, schema in properties.items()
            if is_object(schema)
        }
        closed: dict[str, Json] = (
            {"type": "object"} | shaped | {"properties": described, "additionalProperties": False}
        )
        closed.pop("title", None)
        check_schema(closed)
    except (ForeignReference, ValueError) as error:
        tell("bad_schema", tool.name, f"its arguments: {error}; the program's own stand for them")
        return tool
    description = told.get("description")
    worded = (
        description if isinstance(description, str) and description.strip() else tool.description
    )
    return tool.model_copy(update={"description": worded, "parameters": closed})
