"""The program of a domain, and the workbench on which the importer sets it up.

a domain's name ──► program written anew (`domains/`), or what `--tools` names ──► files of the environment
                                                                                └► workbench.py: functions that no side is offered
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.interop.bundles.envrun.files import MAX_SOURCE
from envmill.interop.importers.tau2 import checkout, hosting
from envmill.interop.importers.tau2.checkout import find_home
from envmill.interop.importers.tau2.checks import stand_alone
from envmill.interop.importers.tau2.release import Side
from schemas.base import Json, is_object
from schemas.environment import Tool

OWN = ("mock", "retail", "telecom", "airline")
"""Domains whose program is here."""
CLASS = "World"
WORKBENCH = '''"""The program with what the importer needs besides its tools."""

from envmill.runtime import Rejection
from program import World

COUPLED = [name for name, member in vars(World).items() if getattr(member, "__dict__", {}).get("coupling")]


class Workbench(World):
    """The program with the functions that set a task up; couplings run after each."""

    def run_function(self, method, arguments):
        try:
            return {"said": getattr(self, method)(**arguments)}
        except Rejection:
            raise
        except Exception as error:
            raise Rejection("raises", f"{type(error).__name__}: {error}") from None

    def settle_state(self):
        return {}


class Gold(World):
    """The program without its couplings: the benchmark runs none between gold calls."""


for name in COUPLED:
    setattr(Gold, name, lambda self: None)
'''
RUN = Tool(
    name="run_function",
    description="Run a function that no side is offered.",
    parameters={
        "type": "object",
        "properties": {"method": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["method", "arguments"],
        "additionalProperties": False,
    },
    effect="change",
)
SETTLE = Tool(
    name="settle_state",
    description="Let the couplings run.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
    effect="change",
)


@dataclass(frozen=True)
class DomainProgram:
    """A program with what its text says of it."""

    files: Mapping[str, str]
    """Path → text; `program.py` defines `World`."""
    sides: Mapping[str, str]
    """Collection → `agent` or `user`."""
    hidden: Mapping[tuple[str, str], str]
    """Side of the benchmark and function that tasks may name → method."""
    actors: Mapping[str, str]
    """Tool → whose it is."""
    couplings: tuple[str, ...]
    """Methods that run after each call."""
    origin: str
    """Whose it is, for the parity table."""
    alone: str
    """The whole program as one text that needs no runtime: for checks."""
    tools: tuple[Tool, ...] = ()
    """Its interface, where `program.py` does not declare it."""

    def find_method(self, side: Side, name: str) -> str:
        """The method that a function of a side is; empty where the side has none."""
        if method := self.hidden.get((side, name)):
            return method
        owner = "user" if side == "user" else "agent"
        return name if self.actors.get(name) == owner else ""


def find_program(domain: str, tools: Path | None) -> DomainProgram | str:
    """The program of a domain, or why there is none."""
    if tools is None:
        if domain not in OWN:
            return f"no program is known for the domain {domain}; name one with --tools (known: {', '.join(OWN)})"
        text = (
            resources("envmill.interop.importers.tau2.domains")
            .joinpath(f"{domain}.py")
            .read_text("utf-8")
        )
        return read_program(text, f"envmill's re-implementation of {domain}")
    if not tools.exists():
        raise SettingsError(
            f"There is no {tools}. Name a file of Python, or a folder of such files."
        )
    if tools.is_dir() and (home := find_home(tools, domain)) is not None:
        return read_checkout(home, domain)
    path = tools if tools.is_file() else tools / f"{domain}.py"
    if not path.is_file():
        return f"--tools {tools} holds no {domain}.py"
    if path.stat().st_size > MAX_SOURCE:
        return f"{path.name} has more than {MAX_SOURCE} bytes"
    try:
        return read_program(path.read_text("utf-8"), f"{path.name} of --tools")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} cannot be read ({error}). Name a file of Python with --tools."
        ) from None


def read_checkout(home: Path, domain: str) -> DomainProgram | str:
    """The toolkits of a checkout; a text where the folder lacks something."""
    found = checkout.read_folder(home, domain)
    if isinstance(found, str):
        return f"the toolkits of {home.name}: {found}"
    methods = [(kit.side, one) for kit in found.kits.values() for one in kit.methods]
    return DomainProgram(
        files=found.files,
        sides={
            name: "user" if side == "user" else "agent"
            for side, names in found.fields.items()
            for name in names
        },
        hidden={
            (side, one.node.name): checkout.name_method(one)
            for side, one in methods
            if not one.mark
        },
        actors={
            one.node.name: "user" if side == "user" else "agent"
            for side, one in methods
            if one.mark
        },
        couplings=("_sync",),
        origin=f"the toolkits of a checkout, {domain}",
        alone=hosting.stand_alone_text(found.files),
        tools=checkout.derive_tools(found),
    )


def read_program(source: str, origin: str) -> DomainProgram | str:
    """What a program's text says: read from the syntax tree, never run."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{origin} cannot be parsed ({type(error).__name__}: {error})"
    told = _read_constants(module)
    sides, hidden = told.get("SIDES"), told.get("HIDDEN", {})
    world = next(
        (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == CLASS),
        None,
    )
    if world is None:
        return f"{origin} defines no class {CLASS}"
    if not is_object(sides) or not sides or not set(map(str, sides.values())) <= {"agent", "user"}:
        return f"{origin} has no SIDES, a plain dict of collections with `agent` or `user`"
    methods = [node for node in world.body if isinstance(node, ast.FunctionDef)]
    return DomainProgram(
        files={"program.py": source},
        sides={str(name): str(side) for name, side in sides.items()},
        hidden={
            (str(side), str(name)): f"_{name}"
            for side, names in (hidden.items() if is_object(hidden) else ())
            for name in names
        },
        actors={node.name: _read_actor(node) for node in methods if not node.name.startswith("_")},
        couplings=tuple(node.name for node in methods if _bears(node, "coupling")),
        origin=origin,
        alone=stand_alone(source),
    )


def _read_constants(module: ast.Module) -> dict[str, Json]:
    found = dict[str, Json]()
    for node in module.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id in ("SIDES", "HIDDEN") and value is not None:
            try:
                found[target.id] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
    return found


def _bears(method: ast.FunctionDef, mark: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == mark for one in method.decorator_list)


def _read_actor(method: ast.FunctionDef) -> str:
    for mark in method.decorator_list:
        match mark:
            case ast.Call(func=ast.Name(id="actors"), args=[ast.Constant(value="user")]):
                return "user"
            case _:
                continue
    return "agent"
