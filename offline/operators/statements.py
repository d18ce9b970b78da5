"""Operators on statements: one dropped, one doubled, two swapped, a return too early, a refusal
without effect."""

import ast
from collections.abc import Iterator

from offline.operators.base import Change

Body = list[ast.stmt]


def drop_statement(node: ast.AST) -> Iterator[Change]:
    """An assignment, a call or a loop is left out."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.For):
        yield ast.Pass()


def remove_raise(node: ast.AST) -> Iterator[Change]:
    """What should be refused is passed over."""
    if isinstance(node, ast.Raise):
        yield ast.Pass()


def return_early(node: ast.AST) -> Iterator[Change]:
    """Nothing that comes after a statement is done."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        yield [node, ast.Return(ast.Dict([], []))]


def double_statement(node: ast.AST) -> Iterator[Change]:
    """A statement is carried out twice."""
    if isinstance(node, ast.AugAssign | ast.Expr):
        yield [node, node]


def lose_loop(node: ast.AST) -> Iterator[Change]:
    """A loop ends after its first round."""
    if isinstance(node, ast.For):
        yield ast.For(node.target, node.iter, [*node.body, ast.Break()], node.orelse)


def return_nothing(node: ast.AST) -> Iterator[Change]:
    """What was found is not returned."""
    if (
        isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, ast.Constant)
    ):
        yield ast.Return(ast.Constant(None))


def ignore_condition(node: ast.AST) -> Iterator[Change]:
    """What depends on a condition is always done, or never."""
    if isinstance(node, ast.If):
        yield list(node.body)
        yield ast.Pass()
