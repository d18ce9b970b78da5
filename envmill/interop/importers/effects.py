"""Which functions of a released server visibly change what it keeps. Read from the syntax tree,
never run.

objects of the server ─► names bound to a part of one ─► a part is set, removed or appended to ─► functions, and those that call them
"""

import ast
from collections.abc import Iterable, Iterator

from envmill.interop.importers.reaching import list_calls, list_objects, spread

_MUTATES = frozenset(
    (
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "pop",
        "popitem",
        "remove",
        "discard",
        "clear",
    )
)
_FRESH = frozenset(("copy", "deepcopy", "dict", "model_dump", "model_copy"))
"""Methods that give a value of its own: who changes it changes nothing that is kept."""


def find_writing(module: ast.Module) -> set[str]:
    """Names of functions that change what the server keeps, themselves or through functions and
    methods of the same file."""
    calls, objects = list_calls(module), list_objects(module)
    functions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return set(
        spread(
            {one.name: "" for one in functions if _writes(one, objects, _MUTATES - set(calls))},
            calls,
        )
    )


def _writes(
    function: ast.FunctionDef | ast.AsyncFunctionDef, objects: set[str], mutates: frozenset[str]
) -> bool:
    given = {one.arg for one in function.args.args}
    whole = objects - given | {"self", "cls"} & given
    kept = whole
    for _ in range(3):  # the tree names a thing before what it is a part of, now and then
        kept = kept | set(_list_bound(function, kept))
    return any(
        _is_write(node, kept, given) or _is_mutation(node, kept, whole, mutates)
        for node in ast.walk(function)
    )


def _list_bound(function: ast.AST, kept: set[str]) -> Iterator[str]:
    """Names that stand for a part of something that is kept."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For):
            targets, value = [node.target], node.iter
        else:
            continue
        if value is not None and _root(value) in kept:
            yield from _list_names(targets)


def _list_names(targets: Iterable[ast.expr]) -> Iterator[str]:
    return (
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _is_write(node: ast.AST, kept: set[str], given: set[str]) -> bool:
    """A part is set or deleted. A helper that sets an attribute of what it is given writes for its
    caller; a dictionary may be a reply."""
    if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
        return False
    return _root(node) in kept or (isinstance(node, ast.Attribute) and _root(node) in given)


def _is_mutation(node: ast.AST, kept: set[str], whole: set[str], mutates: frozenset[str]) -> bool:
    """`self.rows.append`, `found.pop`. What is called on a whole object is one of its own methods
    where the file has one of that name."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or _root(node.func.value) not in kept
    ):
        return False
    is_whole = isinstance(node.func.value, ast.Name) and node.func.value.id in whole
    return node.func.attr in (mutates if is_whole else _MUTATES)


def _root(node: ast.expr) -> str:
    """The name that `name.part[0].get(1)` begins with; nothing where a value of its own is made on
    the way."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr not in _FRESH
        ):
            node = node.func.value
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return ""
