"""Operators on values: constants, arithmetic, arguments, the places they are read from."""

import ast
from collections.abc import Iterator, Mapping

ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
}
COPIES = ("dict", "list", "deepcopy", "copy")


def change_constant(node: ast.AST) -> Iterator[ast.AST]:
    """A number one higher and one lower, an empty text for a text, the other truth value."""
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    elif isinstance(node.value, str) and node.value:
        yield ast.Constant("")


def swap_arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """`-` for `+` and the like, in sums and in `+=`."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)


def swap_arguments(node: ast.AST) -> Iterator[ast.AST]:
    """Two neighbouring arguments of a call in the other's place."""
    if isinstance(node, ast.Call):
        for number in range(len(node.args) - 1):
            one, other = node.args[number : number + 2]
            yield ast.Call(
                node.func,
                [*node.args[:number], other, one, *node.args[number + 2 :]],
                node.keywords,
            )


def read_other_key(node: ast.AST) -> Iterator[ast.AST]:
    """`row["id"]` for `row["anything"]`."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        yield ast.Subscript(node.value, ast.Constant("id"), node.ctx)


def remove_copy(node: ast.AST) -> Iterator[ast.AST]:
    """`x` for `dict(x)` or `copy.deepcopy(x)`."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name in COPIES:
            yield node.args[0]


def cut_loop(node: ast.AST) -> Iterator[ast.AST]:
    """A loop that misses the first or the last of what it goes through."""
    for bounds in (
        ast.Slice(lower=ast.Constant(1)),
        ast.Slice(upper=ast.UnaryOp(ast.USub(), ast.Constant(1))),
    ):
        if isinstance(node, ast.comprehension):
            yield ast.comprehension(node.target, _cut(node.iter, bounds), node.ifs, node.is_async)
        if isinstance(node, ast.For):
            yield ast.For(node.target, _cut(node.iter, bounds), node.body, node.orelse)


def drop_filter(node: ast.AST) -> Iterator[ast.AST]:
    """A comprehension without one of its conditions."""
    if isinstance(node, ast.comprehension):
        for number in range(len(node.ifs)):
            yield ast.comprehension(
                node.target, node.iter, [*node.ifs[:number], *node.ifs[number + 1 :]], node.is_async
            )


def _cut(items: ast.expr, bounds: ast.Slice) -> ast.expr:
    return ast.Subscript(ast.Call(ast.Name("list", ast.Load()), [items], []), bounds, ast.Load())
