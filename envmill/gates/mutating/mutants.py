"""Faulty versions of an environment: without a refusal or a write, with a moved bound, or with an
inverted amount. Programs are only parsed and rewritten here.

Only execution shows whether a version is faulty: on the same call it must behave differently from
the original.
"""

import ast
import copy
import random
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from schemas.environment import Environment

_BOUNDS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_TURNED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}
_WRITERS = (
    "append",
    "add",
    "pop",
    "remove",
    "update",
    "extend",
    "discard",
    "clear",
    "insert",
    "setdefault",
    "execute",
    "executemany",
)

Change: TypeAlias = tuple[str, ast.AST, ast.AST]
"""Kind of fault, node, and its replacement."""


@dataclass(frozen=True)
class Mutant:
    """One environment with one fault."""

    kind: str
    """Kind of fault."""
    tool: str
    """Tool whose code was changed."""
    line: int
    """Line in its file."""
    files: dict[str, str]
    """All files of the faulty version."""


def sample_mutants(environment: Environment, seed: int) -> Iterator[Mutant]:
    """All mutants, in random order and with tools in turn, so that the first few cover many tools
    and kinds."""
    dice = random.Random(f"{environment.id}/{seed}")
    queues = [list(_list_changes(path, function)) for path, function in list_tools(environment)]
    for queue in queues:
        dice.shuffle(queue)
    dice.shuffle(queues)
    while any(queues):
        for queue in filter(None, queues):
            path, function, change = queue.pop()
            if mutant := render(environment, path, function, change):
                yield mutant


def list_tools(environment: Environment) -> Iterator[tuple[str, ast.FunctionDef]]:
    names = {tool.name for tool in environment.tools}
    for path, source in sorted(environment.files.items()):
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(source) if path.endswith(".py") else ast.Module([], [])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield from (
            (path, node)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name in names
        )


def _list_changes(
    path: str, function: ast.FunctionDef
) -> Iterator[tuple[str, ast.FunctionDef, Change]]:
    for node in ast.walk(function):
        for change in _change(node):
            yield path, function, change


def _change(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If(body=[*_, last], orelse=[]) if _is_refusal(last):
            yield "dropped_refusal", node, ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Delete():
            yield "dropped_write", node, ast.Pass()
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in _WRITERS:
            yield "dropped_write", node, ast.Pass()
        case ast.AugAssign():
            yield "dropped_write", node, ast.Pass()
            if turned := _TURNED.get(type(node.op)):
                yield "turned_amount", node, ast.AugAssign(node.target, turned(), node.value)
        case ast.Compare(ops=[operator]) if type(operator) in _BOUNDS:
            yield (
                "moved_bound",
                node,
                ast.Compare(node.left, [_BOUNDS[type(operator)]()], node.comparators),
            )
        case _:
            return


def _is_refusal(node: ast.stmt) -> bool:
    """Whether the statement raises an error, or returns one as some programs do: `{"success":
    False, …}`."""
    return isinstance(node, ast.Raise) or (
        isinstance(node, ast.Return) and "'success': False" in ast.unparse(node)
    )


def render(
    environment: Environment, path: str, function: ast.FunctionDef, change: Change
) -> Mutant | None:
    """Rewrites only the lines of the function: a whole file takes a hundred times as long."""
    kind, node, instead = change
    try:
        fresh = _Replacer(node, instead).visit(copy.deepcopy(function, {id(node): node}))
        text = ast.unparse(ast.fix_missing_locations(fresh))
    except RecursionError:
        return None
    lines = environment.files[path].split("\n")
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)]) - 1
    lines[first : function.end_lineno or function.lineno] = textwrap.indent(
        text, " " * function.col_offset
    ).split("\n")
    return Mutant(
        kind,
        function.name,
        getattr(node, "lineno", function.lineno),
        environment.files | {path: "\n".join(lines)},
    )


class _Replacer(ast.NodeTransformer):
    """Replaces one node by another."""

    def __init__(self, target: ast.AST, instead: ast.AST) -> None:
        self._target, self._instead = target, instead

    def visit(self, node: ast.AST) -> ast.AST:
        return self._instead if node is self._target else self.generic_visit(node)
