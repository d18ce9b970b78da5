"""An operator: one small change to a syntax tree, made wherever the tree has a place for it,
knowing nothing of domains."""

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Change: TypeAlias = ast.AST | list[ast.stmt]
Operator: TypeAlias = Callable[[ast.AST], Iterator[Change]]
"""What may stand in a node's place; nothing where it has no place for the change."""


@dataclass(frozen=True)
class ProgramMutant:
    """A program that differs from the clean one in one place."""

    operator: str
    """Which change."""
    function: str
    """Function it was made in."""
    line: int
    """Where, in the clean text."""
    source: str
    """The program as it is now."""


@dataclass(frozen=True)
class Site:
    """A place for one change."""

    operator: str
    """Which change."""
    function: ast.FunctionDef
    """Function it lies in."""
    node: ast.AST
    """Node to be replaced."""
    change: Change
    """What comes in its place."""


def find_sites(name: str, operator: Operator, tree: ast.Module) -> list[Site]:
    """Every place of a program for this operator, in source order."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        Site(name, each, node, change)
        for each in functions
        for node in _list_nodes(each)
        for change in operator(node)
    ]


def render(site: Site, source: str) -> ProgramMutant | None:
    """The program with this change; none where it reads as before."""
    function, fresh = site.function, copy.deepcopy(site.function, {id(site.node): site.node})
    _Replacer(site.node, copy.deepcopy(site.change)).generic_visit(fresh)
    changed = ast.unparse(ast.fix_missing_locations(fresh))
    if changed == ast.unparse(function):
        return None
    lines = source.split("\n")
    first, last = function.lineno - 1, function.end_lineno or function.lineno
    lines[first:last] = textwrap.indent(changed, " " * function.col_offset).split("\n")
    return ProgramMutant(
        site.operator,
        function.name,
        getattr(site.node, "lineno", function.lineno),
        "\n".join(lines),
    )


class _Replacer(ast.NodeTransformer):
    """Puts one node, or several statements, in the place of another."""

    def __init__(self, target: ast.AST, change: Change) -> None:
        self._target = target
        self._change = change

    def visit(self, node: ast.AST) -> Change:
        return self._change if node is self._target else self.generic_visit(node)


def _list_nodes(function: ast.FunctionDef) -> list[ast.AST]:
    """Nodes of a body; docstrings and what a `raise` says are nobody's behaviour."""
    return [
        node
        for statement in function.body
        if not _is_docstring(statement)
        for node in _walk(statement)
    ]


def _walk(node: ast.AST) -> list[ast.AST]:
    children = () if isinstance(node, ast.Raise) else ast.iter_child_nodes(node)
    return [node, *(each for child in children for each in _walk(child))]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
