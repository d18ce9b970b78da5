"""Operators on conditions: comparisons, connectives, quantifiers."""

import ast
from collections.abc import Iterator, Mapping

FLIPS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
EDGES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def flip_comparison(node: ast.AST) -> Iterator[ast.AST]:
    """`==` for `!=`, `<` for `>`, `in` for `not in`."""
    return _compare_otherwise(node, FLIPS)


def move_boundary(node: ast.AST) -> Iterator[ast.AST]:
    """`<` for `<=` and back."""
    return _compare_otherwise(node, EDGES)


def negate_condition(node: ast.AST) -> Iterator[ast.AST]:
    """`if not …` for `if …`."""
    if isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)


def swap_connective(node: ast.AST) -> Iterator[ast.AST]:
    """`or` for `and` and back."""
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def drop_operand(node: ast.AST) -> Iterator[ast.AST]:
    """One side of an `and` or `or` less."""
    if isinstance(node, ast.BoolOp):
        for number in range(len(node.values)):
            left = [*node.values[:number], *node.values[number + 1 :]]
            yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def swap_quantifier(node: ast.AST) -> Iterator[ast.AST]:
    """`all` for `any`, `max` for `min`, and back."""
    swaps = {"any": "all", "all": "any", "min": "max", "max": "min"}
    if isinstance(node, ast.Name) and node.id in swaps:
        yield ast.Name(swaps[node.id], ast.Load())


def _compare_otherwise(
    node: ast.AST, table: Mapping[type[ast.cmpop], type[ast.cmpop]]
) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for number, each in enumerate(node.ops):
            if type(each) in table:
                operators = [*node.ops[:number], table[type(each)](), *node.ops[number + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)
