"""Which tools of a released server reach out of it: to the network, to files, to other processes.
Read from the syntax tree, never run.

imports of packages that reach out ─► functions and methods that use them, or call such ─► tools that are left out by name
"""

import ast
from collections.abc import Iterator, Mapping

NETWORK = (
    "requests",
    "httpx",
    "aiohttp",
    "urllib3",
    "websockets",
    "socket",
    "http",
    "smtplib",
    "ftplib",
)
FILES = ("tempfile", "glob", "shutil", "fileinput", "zipfile", "tarfile")
PROCESSES = ("subprocess", "multiprocessing", "signal")
OUTSIDE = (*NETWORK, *FILES, *PROCESSES)
"""Packages for which a stand-in lies beside a server: it can be imported, and whatever is called in
it is refused."""

HARMLESS = {"glob": ("fnmatch", "escape", "has_magic")}
"""What of such a package works on texts alone; it is the real one."""

_STAND_IN = '''"""Stand-ins for packages that reach out: here is nothing to be reached, so whatever is called is refused by name."""

import fnmatch
import re
import sys
import types


class Unreachable(ConnectionError, FileNotFoundError):
    pass


class Part:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return find(f"{self._name}.{name}")

    def __call__(self, *_, **__):
        if self._name.rpartition(".")[2][:1].isupper():
            return self  # a session or client is made when the server is loaded, and asked later
        raise Unreachable(f"{self._name} reaches out of the environment, where nothing is")


class Package(types.ModuleType):
    def __getattr__(self, name):
        return find(f"{self.__name__}.{name}")


def find(path):
    name = path.rpartition(".")[2]
    if name.startswith("__"):
        raise AttributeError(name)
    return Unreachable if name.endswith(("Error", "Exception", "Timeout", "Expired")) else Part(path)


MAGIC = re.compile(r"([*?[])")
ESCAPED = {"escape": lambda path: MAGIC.sub(r"[\\1]", path), "has_magic": lambda path: bool(MAGIC.search(path))}
HARMLESS = {"glob": {"fnmatch": fnmatch, **ESCAPED}}

for name in PACKAGES:
    sys.modules[name] = Package(name)
    vars(sys.modules[name]).update(HARMLESS.get(name, {}))
'''


def list_outside(module: ast.Module) -> set[str]:
    """Packages it imports that reach out."""
    return {one for node in ast.walk(module) for one in _list_packages(node)}


def write_stand_ins(packages: set[str]) -> dict[str, str]:
    """A file that is to be imported before the server."""
    text = _STAND_IN.replace("for name in PACKAGES:", f"for name in {sorted(packages)!r}:")
    return {"outside.py": text}


def find_reaching(module: ast.Module) -> dict[str, str]:
    """Function → the package that it uses, itself or through functions and methods of the same
    file."""
    bound = {name: top for top, name in _list_imports(module)}
    functions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return spread(
        {
            one.name: top
            for one in functions
            for name, top in bound.items()
            if name in _list_uses(one, bound)
        },
        list_calls(module),
    )


def spread(found: dict[str, str], calls: Mapping[str, set[str]]) -> dict[str, str]:
    """What is found of functions, and of those that call them."""
    while fresh := {
        name: told[0]
        for name, called in calls.items()
        if name not in found and (told := _list_told(called, found))
    }:
        found = found | fresh
    return found


def list_calls(module: ast.Module) -> dict[str, set[str]]:
    """Function → those of the file that it calls. A tool and the method behind it often bear one
    name: they are taken together."""
    objects, calls = list_objects(module) | {"self", "cls"}, dict[str, set[str]]()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            calls.setdefault(node.name, set()).update(_list_calls(node, objects))
    return calls


def list_objects(module: ast.Module) -> set[str]:
    """Names of objects of a module: a method called on one may be that of a class here."""
    return {name for node in module.body for name in _list_assigned(node)}


def _list_told(called: set[str], found: Mapping[str, str]) -> list[str]:
    return [found[name] for name in sorted(called) if name in found]


def _list_imports(module: ast.Module) -> Iterator[tuple[str, str]]:
    """(package, name it is bound to)."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (
                (top, one.asname or top)
                for one in node.names
                if (top := one.name.split(".")[0]) in OUTSIDE
            )
        elif (
            isinstance(node, ast.ImportFrom)
            and node.module
            and (top := node.module.split(".")[0]) in OUTSIDE
        ):
            yield from ((top, one.asname or one.name) for one in node.names)


def _list_packages(node: ast.AST) -> Iterator[str]:
    """With the modules within them that are named: `requests.exceptions` besides `requests`."""
    named = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
    for one in named:
        parts = one.split(".")
        if parts[0] in OUTSIDE:
            yield from (".".join(parts[: size + 1]) for size in range(len(parts)))


def _list_assigned(node: ast.stmt) -> Iterator[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _list_uses(function: ast.AST, bound: Mapping[str, str]) -> set[str]:
    """Names that it uses, but for those of which it takes only what reaches nothing."""
    bases = (
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    spared = {
        id(node.value)
        for node in bases
        if isinstance(node.value, ast.Name)
        and node.attr in HARMLESS.get(bound.get(node.value.id, ""), ())
    }
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and id(node) not in spared
    }


def _list_calls(function: ast.AST, objects: set[str]) -> Iterator[str]:
    """Functions by name, and methods of objects of the file. `rows.get` is nobody's here: it may be
    that of a dictionary."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif (
                isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in objects
            ):
                yield node.func.attr
