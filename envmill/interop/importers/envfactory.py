"""Importer `envfactory`: MCP servers of EnvFactory, with their metadata and the scenarios they were
tried with, as bundle folders.

NAME_metadata.json ─► interface        NAME.py ─► program, behind a thin class and stand-ins for the packages it imports
checkpoint ─► states: each is loaded in the jail and given back; what the release expects of it and does not happen is said
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envmill.base.errors import BuildError, SettingsError
from envmill.interop.bundles import Folder
from envmill.interop.bundles.files import Files, fault
from envmill.interop.importers.base import MAX_RELEASE, Harvest, Remark, is_folder_name
from envmill.interop.importers.effects import find_writing
from envmill.interop.importers.envfactory_adapter import NAMES, write_files
from envmill.interop.importers.reaching import OUTSIDE, find_reaching, list_outside, write_stand_ins
from envmill.interop.importers.tools.shaping import ForeignReference, Shaper
from envmill.kinds.base import is_forbidden
from envmill.kinds.docstring import described_parameters
from envmill.kinds.start import CLOCK
from envmill.runtime.schema import check_schema
from envmill.sandbox import Look, Program, Reset, Sandbox
from schemas.base import Json, is_array, is_object
from schemas.environment import Effect, Environment, Tool
from schemas.folder import NOWHERE
from schemas.seed import Brief

LICENCE = "unknown"
"""The repository names none."""
ORIGIN = NOWHERE.model_copy(update={"recipe": "envfactory", "provider": "released"})

State = dict[str, Json]

_METADATA = "_metadata.json"
_LIFE = ("load_scenario", "save_scenario")
_PACKAGES = ("pydantic", "fastmcp", "mcp")
_READS = frozenset(
    (
        "get",
        "list",
        "search",
        "find",
        "view",
        "read",
        "show",
        "lookup",
        "query",
        "compare",
        "count",
        "fetch",
        "retrieve",
    )
)
"""A tool whose name begins with one of these says that it only looks."""
_CHANGES = frozenset(
    (
        "add",
        "create",
        "insert",
        "update",
        "edit",
        "modify",
        "rename",
        "delete",
        "remove",
        "clear",
        "cancel",
        "send",
        "set",
    )
)
"""A tool whose name holds one of these says that it does something."""


async def import_release(root: Path, sandbox: Sandbox) -> Harvest:
    """Every server that has metadata; servers and metadata that lack the other half are remarks."""
    files = Files(root, largest=MAX_RELEASE)
    metadata = {
        Path(path).name.removesuffix(_METADATA): path
        for path in files.list()
        if path.endswith(_METADATA)
    }
    servers = {
        Path(path).stem: path
        for path in files.list()
        if path.endswith(".py") and not Path(path).name.startswith("_")
    }
    if not metadata:
        raise fault(
            str(root),
            f"there is no *{_METADATA}",
            "Name the folder that holds the release's `metadata` and `tools`.",
        )
    states = _read_checkpoints(files, set(metadata))
    harvest = Harvest(counted={"environments": len(metadata), "scenarios": 0, "checks": 0})
    for name in sorted(set(servers) - set(metadata)):
        harvest.remarks.append(
            Remark(
                name,
                "",
                "refused",
                "no_metadata",
                f"{servers[name]} has no {name}{_METADATA} beside it",
            )
        )
    for name, path in sorted(metadata.items()):
        await _Import(name, sandbox, harvest).map(
            files, path, servers.get(name, ""), states.get(name, [])
        )
    return harvest


def _read_checkpoints(files: Files, names: set[str]) -> dict[str, list[Json]]:
    """Server → scenarios it was tried with. A file belongs to the longest name that its own begins
    with."""
    found = dict[str, list[Json]]()
    for path in files.list():
        if not path.endswith(".json") or path.endswith(_METADATA):
            continue
        owner = max(
            (name for name in names if Path(path).name.startswith(name)), key=len, default=""
        )
        try:
            told = files.json(path) if owner else None
        except SettingsError:
            continue
        scenarios = told.get("scenarios") if is_object(told) else None
        if is_array(scenarios):
            found.setdefault(owner, []).extend(scenarios)
    return found


class _Import:
    """One server on its way into a folder."""

    def __init__(self, name: str, sandbox: Sandbox, harvest: Harvest) -> None:
        self._name, self._sandbox, self._harvest = name, sandbox, harvest

    def _refuse(self, code: str, detail: str, part: str = "") -> None:
        self._harvest.remarks.append(Remark(self._name, part, "refused", code, detail))

    def _change(self, code: str, detail: str, part: str = "") -> None:
        self._harvest.remarks.append(Remark(self._name, part, "changed", code, detail))

    async def map(self, files: Files, metadata: str, server: str, states: list[Json]) -> None:
        """The folder joins the harvest, or its reason does."""
        try:
            told, source = files.json(metadata), files.text(server) if server else ""
        except SettingsError as error:
            self._refuse("unreadable", error.message)
            return
        if reason := await self._map(told, source, states):
            self._refuse(*reason)

    async def _map(self, told: Json, source: str, states: list[Json]) -> tuple[str, str] | None:
        if not is_folder_name(self._name):
            return "bad_id", "its name cannot name a folder"
        if not source:
            return "no_server", "there is no Python file of its name"
        if not is_object(told) or not is_array(told.get("tools")):
            return "unreadable", "its metadata holds no list of tools"
        server = _read_server(source)
        if isinstance(server, tuple):
            return server
        tools = list(self._map_tools(told["tools"], server))
        if not tools:
            return (
                "no_tools",
                "none of its tools is a function of the server, and reaches nothing outside",
            )
        environment = self._make_environment(told, source, tools, server.outside)
        try:
            await self._sandbox.inspect(Program.of(environment))
        except BuildError as error:
            return "does_not_load", error.message
        kept = await self._try_states(environment, states)
        if not kept:
            return (
                "no_state",
                "no scenario it was tried with can be loaded, and it begins on none of its own",
            )
        self._harvest.folders[self._name] = Folder(environment, (), (), kept)
        return None

    def _make_environment(
        self, told: dict[str, Json], source: str, tools: list[Tool], outside: set[str]
    ) -> Environment:
        text = " ".join(str(told.get("description") or self._name).split())
        return Environment(
            kind="stateful",
            files=write_files(source, [tool.name for tool in tools]) | write_stand_ins(outside),
            entry="adapter:World",
            tools=tools,
            rules=[],
            policy_document="",
            name=str(told.get("class_name") or self._name),
            summary=text,
            brief=Brief(theme=self._name, text=text, number=0),
            blueprint="",
            licence=LICENCE,
            origin=ORIGIN,
        )

    def _map_tools(self, told: list[Json], server: "_Server") -> Iterator[Tool]:
        functions, seen = server.functions, set[str](_LIFE)
        for one in told:
            name = str(one.get("name", "")).rpartition("-")[2] if is_object(one) else ""
            if not is_object(one) or name in _LIFE:
                continue
            if name not in functions or is_forbidden(name):
                self._refuse(
                    "no_function",
                    "the server offers no such function, or its name is kept for others",
                    name,
                )
            elif name in seen:
                self._refuse("name_twice", "another tool bears its name", name)
            elif name in server.reaching:
                self._refuse(
                    "reaches_out",
                    f"it uses {server.reaching[name]}, and outside of the environment is nothing",
                    name,
                )
            elif (tool := self._map_tool(name, one, server)) is not None:
                yield tool
            seen.add(name)
        for name in sorted(set(functions) - seen):
            self._harvest.remarks.append(
                Remark(
                    self._name,
                    name,
                    "noted",
                    "not_offered",
                    "a function that the metadata does not name",
                )
            )

    def _map_tool(self, name: str, told: dict[str, Json], server: "_Server") -> Tool | None:
        """Closed, described, in the subset that the runtime validates; what it does its name says,
        or its code."""
        schema = told.get("input_schema")
        try:
            if not is_object(schema):
                raise ValueError("it is no object")
            shaped = Shaper(schema, lambda code, part: self._change(code, part, name)).shape(schema)
            given = shaped.get("properties", {})
            if not is_object(given) or not all(map(is_object, given.values())):
                raise ValueError("its properties are no schemas")
            words = described_parameters(ast.get_docstring(server.functions[name]) or "")
            described: State = {
                key: {"description": words.get(key) or key.replace("_", " ")} | one
                for key, one in given.items()
                if is_object(one)
            }
            closed: State = (
                {"type": "object"}
                | shaped
                | {"properties": described, "additionalProperties": False}
            )
            check_schema(closed)
        except (ForeignReference, ValueError) as error:
            self._refuse("bad_schema", f"its arguments: {error}", name)
            return None
        effect, word = _find_effect(name, name in server.writing)
        self._change(
            f"effect_by_{word}",
            f"the metadata does not say what it does; by its {word} it is a {effect}",
            name,
        )
        return Tool(
            name=name,
            description=str(told.get("description") or name),
            parameters=closed,
            effect=effect,
        )

    async def _try_states(self, environment: Environment, told: list[Json]) -> dict[str, State]:
        """Those that load; an expectation of the release that does not come true is said."""
        kept, given = dict[str, State](), list[tuple[str, Json, bool]]([("empty", {}, False)])
        given += [
            (
                str(one.get("scenario_id") or place),
                one.get("scenario_data"),
                one.get("expected_behavior") != "validation_error",
            )
            for place, one in enumerate(told)
            if is_object(one)
        ]
        for name, state, wanted in given:
            begun, seen = await self._sandbox.play(
                Program.of(environment),
                [Reset(state if is_object(state) else {}, CLOCK, 0), Look()],
                hashes="none",
            )
            loads = is_object(state) and begun.outcome == "ok" and seen.state is not None
            label = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "state"
            if loads and seen.state is not None and (wanted or name == "empty"):
                kept[label] = seen.state
            if name != "empty" and loads is not wanted:
                why = (
                    "it is refused: " + (begun.message or seen.message)[-200:]
                    if wanted
                    else "it should be refused, and is taken"
                )
                self._refuse("state_unexpected", why, name)
        return kept


@dataclass(frozen=True)
class _Server:
    """What is read of its code."""

    functions: dict[str, ast.FunctionDef]
    """Those that it offers."""
    outside: set[str]
    """Packages it imports that reach out."""
    reaching: dict[str, str]
    """Function → such a package that it uses."""
    writing: set[str]
    """Functions that visibly change what it keeps."""


def _read_server(source: str) -> _Server | tuple[str, str]:
    """Functions that it offers, or why it cannot run here. Read from the syntax tree, never run."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return "no_python", f"its code cannot be parsed ({type(error).__name__}: {error})"
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom | ast.Import):
            named = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [one.name for one in node.names]
            )
            for top in (name.split(".")[0] for name in named):
                if top not in (*_PACKAGES, *OUTSIDE) and top not in sys.stdlib_module_names:
                    return (
                        "foreign_import",
                        f"it imports {top or 'its own package'}, which is not there",
                    )
            more = (
                {one.name for one in node.names} - NAMES
                if isinstance(node, ast.ImportFrom) and node.module == "pydantic"
                else set[str]()
            )
            if more:
                return (
                    "foreign_import",
                    f"it uses {', '.join(sorted(more))} of pydantic, which the stand-in has not",
                )
    functions = {
        node.name: node
        for node in module.body
        if isinstance(node, ast.FunctionDef) and any(map(_is_tool, node.decorator_list))
    }
    if lacking := [name for name in _LIFE if name not in functions]:
        return "no_scenario", f"it offers no {lacking[0]}, so it cannot be begun on a state"
    return _Server(functions, list_outside(module), find_reaching(module), find_writing(module))


def _find_effect(name: str, writes: bool) -> tuple[Effect, str]:
    """What a tool does, and what says so: its name, `getDesk` or `desk_add`, or else its code."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    if words and words[0] in _READS:
        return "query", "name"
    if _CHANGES & set(words):
        return "change", "name"
    return "change" if writes else "query", "code"


def _is_tool(node: ast.expr) -> bool:
    """`@mcp.tool()` and `@mcp.tool`."""
    inner = node.func if isinstance(node, ast.Call) else node
    return isinstance(inner, ast.Attribute) and inner.attr == "tool"
