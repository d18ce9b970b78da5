"""Who imports whom: read from the source text, so that nothing has to be importable to be judged.

folder ──every *.py──► module name ──ast──► names imported, wherever the statement stands
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.architecture.sources import find_sources, parse_file

Imports = Mapping[str, frozenset[str]]
"""Module → dotted names it imports; a name inside our tree is always a module of ours."""


def read_imports(root: Path, packages: tuple[str, ...]) -> Imports:
    """Every module of the packages under a root. Functions, `try` and TYPE_CHECKING blocks count
    like any other place."""
    files = {_module_name(root, path): path for _, path in find_sources(root, packages)}
    return {module: frozenset(_find_imports(module, path, files)) for module, path in files.items()}


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _find_imports(module: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _resolve_from(_absolute(node, package), node, files)
        elif isinstance(node, ast.Call):
            yield from _resolve_call(node)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _resolve_from(source: str, node: ast.ImportFrom, files: Mapping[str, Path]) -> Iterator[str]:
    """`from package import name` means the submodule when there is one, the package's own text
    otherwise."""
    for alias in node.names:
        submodule = f"{source}.{alias.name}"
        yield submodule if submodule in files else source


def _resolve_call(node: ast.Call) -> Iterator[str]:
    """`import_module("a.b")` and `__import__("a.b")` are imports too; a computed name cannot be
    seen."""
    called = (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    )
    if (
        called in ("import_module", "__import__")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        yield str(node.args[0].value)


def find_cycle(imports: Imports) -> list[str]:
    """One circle of modules, first and last the same; empty when there is none."""
    finished: set[str] = set()

    def walk(module: str, trail: list[str]) -> list[str]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module in finished or module not in imports:
            return []
        for target in sorted(imports[module] - {module}):
            if circle := walk(target, [*trail, module]):
                return circle
        finished.add(module)
        return []

    return next((circle for module in sorted(imports) if (circle := walk(module, []))), [])
