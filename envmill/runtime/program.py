"""A program as text: compiled once, executed afresh for every session, imported from memory
alone."""

import linecache
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

MAX_SOURCE = 1024 * 1024
SCHEMA = "schema.sql"
"""The file that makes a database of an environment's state."""


class ProgramFault(Exception):
    """A program that cannot be compiled, imported or constructed."""


class ProgramImporter:
    """The compiled files of one program, as an importer; nothing is ever read from disk.

    A finder and a loader by its methods alone: the classes of `importlib.abc` bring twenty modules
    along, which every fork would copy.
    """

    def __init__(self, files: dict[str, str], entry: str) -> None:
        module, _, self.class_name = entry.partition(":")
        self.module = module
        self.schema = files.get(SCHEMA, "")
        self.codes: dict[str, CodeType] = {}
        self._packages = {_module_name(path) for path in files if path.endswith("/__init__.py")}
        for path, text in files.items():
            if path.endswith(".py"):
                self.codes[_module_name(path)] = compile_source(path, text)
        if module not in self.codes:
            raise ProgramFault(
                f"The entry {entry!r} names module {module!r}, and there is no file {module}.py."
            )

    def keep_only(self, name: str) -> None:
        """Drop the code and the text of every other module."""
        for other in self.codes.keys() - {name}:
            linecache.cache.pop(self.codes.pop(other).co_filename, None)

    def load(self) -> type[Any]:
        """Execute the modules afresh and return the entry class."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for name in self.codes:
            sys.modules.pop(name, None)
        found = getattr(self._import_entry(), self.class_name, None)
        if not isinstance(found, type):
            raise ProgramFault(f"Module {self.module!r} defines no class {self.class_name!r}.")
        return found

    def _import_entry(self) -> ModuleType:
        """What an import statement would do, without its locks and searches: half the time of a
        small program's construction."""
        if "." in self.module or self.module in self._packages:
            __import__(self.module)
            return sys.modules[self.module]
        module, loader = ModuleType(self.module), self._be_loader()
        module.__spec__, module.__loader__, module.__package__ = (
            ModuleSpec(self.module, loader),
            loader,
            "",
        )
        sys.modules[self.module] = module
        try:
            exec(self.codes[self.module], module.__dict__)
        except BaseException:
            sys.modules.pop(self.module, None)
            raise
        # A module may have put another object in its place.
        return sys.modules[self.module]

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        return (
            ModuleSpec(fullname, self._be_loader(), is_package=fullname in self._packages)
            if fullname in self.codes
            else None
        )

    def _be_loader(self) -> Any:
        return self

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.codes[module.__name__], module.__dict__)


def _module_name(path: str) -> str:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if name in sys.modules or name in sys.stdlib_module_names:
        raise ProgramFault(f"{path} would hide the module {name!r}: give the file another name.")
    return name


def compile_source(path: str, text: str) -> CodeType:
    """Compile one file; its text stays at hand, so that tracebacks quote its lines."""
    if len(text) > MAX_SOURCE:
        raise ProgramFault(
            f"{path} has {len(text)} characters, more than the {MAX_SOURCE} allowed."
        )
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        return compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        quoted = (error.text or "").strip()[:200]
        raise ProgramFault(
            f"{path}, line {error.lineno}: {type(error).__name__}: {error.msg}: {quoted}"
        ) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise ProgramFault(f"{path} cannot be compiled: {type(error).__name__}: {error}") from None
