"""A domain's own toolkits, as a checkout of τ²-bench has them, as a program for the jail.

tools.py, user_tools.py ──ast──► toolkits, tools, functions without a mark, databases
data_model.py           ──ast──► fields of each database
all of them ────────────────────► files of the program, behind the thin class of `hosting`
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from envmill.interop.bundles.files import Files
from envmill.interop.importers.tau2 import hosting
from envmill.kinds.annotation import read_annotation
from envmill.kinds.base import is_forbidden
from envmill.kinds.docstring import described_parameters, read_description
from envmill.runtime.schema import check_schema
from schemas.base import Json, canonical_json
from schemas.environment import Tool

KIT, MARKS = "ToolKitBase", ("is_tool", "is_discoverable_tool")
PLACES = ("src/tau2/domains", "tau2/domains", "domains", "")
"""Where a checkout, a package or a folder of domains has a domain."""


@dataclass(frozen=True)
class KitMethod:
    """A public method of a toolkit."""

    node: ast.FunctionDef
    side: str
    mark: str
    """Kind of tool, or empty for a function that no side is offered."""
    writes: bool


@dataclass
class Toolkit:
    """One side's class."""

    side: str
    module: str
    name: str
    database: str = ""
    methods: list[KitMethod] = field(default_factory=list[KitMethod])


@dataclass(frozen=True)
class Checkout:
    """What is read of a domain's folder."""

    files: Mapping[str, str]
    """Path → text, stand-ins among them."""
    kits: Mapping[str, Toolkit]
    fields: Mapping[str, list[str]]
    """Side → collections of its database."""
    plan: Json
    """For the thin class."""
    couples: bool
    """Whether its environment overrides `sync_tools`."""


def find_home(tools: Path, domain: str) -> Path | None:
    """The domain's folder below the one that is named; None where there is none."""
    places = [tools / place / domain for place in PLACES]
    return next((one for one in (*places, tools) if (one / "tools.py").is_file()), None)


def read_folder(home: Path, domain: str) -> Checkout | str:
    """The domain's folder, or what it lacks. Nothing of it is run."""
    found = Files(home)
    texts = {
        path: found.source(path)
        for path in found.list()
        if path.endswith(".py") and "/" not in path
    }
    try:
        modules = {path.removesuffix(".py"): ast.parse(text) for path, text in texts.items()}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its code cannot be parsed ({type(error).__name__}: {error})"
    package = f"tau2.domains.{domain}"
    classes = {
        node.name: (f"{package}.{name}", node)
        for name, module in modules.items()
        for node in module.body
        if isinstance(node, ast.ClassDef)
    }
    kits = {kit.side: kit for kit in _find_kits(classes)}
    if "assistant" not in kits:
        return f"tools.py defines no {KIT}"
    if lacking := [kit for kit in kits.values() if kit.database not in classes]:
        return f"{lacking[0].name} does not say of which class its db is"
    around = next((place for place in classes.values() if _overrides_sync(place[1])), None)
    fields = {side: _list_fields(classes[kit.database][1], classes) for side, kit in kits.items()}
    plan = {
        "kits": {side: {"module": kit.module, "name": kit.name} for side, kit in kits.items()},
        "databases": {
            side: {"module": classes[kit.database][0], "name": kit.database}
            for side, kit in kits.items()
        },
        "fields": fields,
        "environment": {"module": around[0], "name": around[1].name} if around else None,
        "methods": [
            [side, one.node.name, name_method(one), one.writes or not one.mark]
            for side, kit in kits.items()
            for one in kit.methods
        ],
    }
    home_files = {f"tau2/domains/{domain}/{path}": text for path, text in texts.items()}
    files = {**hosting.list_stand_ins(), f"tau2/domains/{domain}/__init__.py": "", **home_files}
    files["program.py"] = hosting.AROUND.replace("$PLAN", repr(canonical_json(plan)))
    return Checkout(files, kits, fields, plan, around is not None)


def name_method(method: KitMethod) -> str:
    """What it is called here: a tool by its name, any other function by its side's and its own."""
    return method.node.name if method.mark else f"_{method.side}_{method.node.name}"


def derive_tools(checkout: Checkout) -> tuple[Tool, ...]:
    """The interface as signatures and docstrings tell it; what a type of their own means is left open."""
    return tuple(
        _derive_tool(method)
        for kit in checkout.kits.values()
        for method in kit.methods
        if method.mark and not is_forbidden(method.node.name)
    )


def _find_kits(classes: Mapping[str, tuple[str, ast.ClassDef]]) -> Iterator[Toolkit]:
    for module, node in classes.values():
        if KIT not in _list_bases(node, classes):
            continue
        side = "user" if "user" in (module.rpartition(".")[2] + node.name).lower() else "assistant"
        kit = Toolkit(side, module, node.name)
        for one in node.body:
            match one:
                case ast.AnnAssign(target=ast.Name(id="db"), annotation=ast.Name(id=name)):
                    kit.database = name
                case ast.FunctionDef() if not one.name.startswith("_") and not one.decorator_list:
                    kit.methods.append(KitMethod(one, side, "", False))
                case ast.FunctionDef() if not one.name.startswith("_"):
                    kit.methods += _read_marked(one, side)
                case _:
                    continue
        if any(method.mark for method in kit.methods):
            yield kit


def _read_marked(node: ast.FunctionDef, side: str) -> Iterator[KitMethod]:
    """A tool with its mark; a property or the like is none."""
    for mark in node.decorator_list:
        call = mark if isinstance(mark, ast.Call) else None
        name = call.func if call else mark
        if not isinstance(name, ast.Name) or name.id not in MARKS:
            continue
        kind = (
            next((arg.attr for arg in call.args if isinstance(arg, ast.Attribute)), "READ")
            if call
            else "READ"
        )
        told = {one.arg: one.value for one in call.keywords} if call else {}
        writes = told.get("mutates_state")
        does = bool(writes.value) if isinstance(writes, ast.Constant) else kind == "WRITE"
        yield KitMethod(node, side, kind.lower(), does)
        return


def _list_bases(node: ast.ClassDef, classes: Mapping[str, tuple[str, ast.ClassDef]]) -> list[str]:
    """Names of its bases, and of theirs."""
    found, left = list[str](), [node]
    while left and len(found) < 50:
        for base in left.pop().bases:
            if isinstance(base, ast.Name) and base.id not in found:
                found.append(base.id)
                left += [classes[base.id][1]] if base.id in classes else []
    return found


def _list_fields(node: ast.ClassDef, classes: Mapping[str, tuple[str, ast.ClassDef]]) -> list[str]:
    """Fields of a model, those of its bases first."""
    nodes = [classes[name][1] for name in reversed(_list_bases(node, classes)) if name in classes]
    named = [
        one.target.id
        for each in (*nodes, node)
        for one in each.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    return [
        name for name in dict.fromkeys(named) if not name.startswith("_") and name != "model_config"
    ]


def _overrides_sync(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.FunctionDef) and one.name == "sync_tools" for one in node.body)


def _derive_tool(method: KitMethod) -> Tool:
    node = method.node
    docstring = ast.get_docstring(node) or ""
    words = described_parameters(docstring)
    properties, required = dict[str, Json](), list[str]()
    arguments = node.args
    named = arguments.args[1:]
    optional = (
        {one.arg for one in named[len(named) - len(arguments.defaults) :]}
        if arguments.defaults
        else set[str]()
    )
    for one in (*named, *arguments.kwonlyargs):
        properties[one.arg] = _read_schema(one.annotation) | {
            "description": words.get(one.arg) or one.arg.replace("_", " ")
        }
        required += [] if one.arg in optional or one in arguments.kwonlyargs else [one.arg]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return Tool(
        name=node.name,
        description=read_description(docstring) or node.name.replace("_", " "),
        parameters=schema | ({"required": required} if required else {}),
        effect="change" if method.writes else "query",
        actors=["user" if method.side == "user" else "agent"],
    )


def _read_schema(annotation: ast.expr | None) -> dict[str, Json]:
    """Nothing for a type that is defined elsewhere."""
    if annotation is None:
        return {}
    try:
        schema = read_annotation(annotation)
        check_schema(schema)
    except (ValueError, SyntaxError):
        return {}
    return schema


__all__ = ["Checkout", "derive_tools", "find_home", "name_method", "read_folder"]
