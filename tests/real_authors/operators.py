"""Places of a program where one small change makes a fault: by family, on the syntax tree; in SQL,
on its text."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from offline.operators.conditions import drop_operand, flip_comparison, move_boundary
from offline.operators.values import swap_arithmetic

Change = tuple[str, ast.AST, str]
"""Operator, node, and the text that comes in its place."""

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
)
_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_WHERE = re.compile(r"\b(WHERE|ON|HAVING)\b", re.IGNORECASE)
_COMPARES = {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "=": "!=", "!=": "=", "<>": "="}
_COMPARISON = re.compile(r"(?<![<>!=])(<=|>=|<>|!=|<|>|=)(?![<>=])")
_SIGN = re.compile(r"(?<=\w) ([+-]) (?=[\w?:(])")


@dataclass(frozen=True)
class Place:
    """One place for one change."""

    family: str
    operator: str
    function: str
    line: int
    """Counted from the function's own, so that a change elsewhere leaves it."""
    column: int
    old: str
    new: str

    def apply(self, source: str) -> str:
        """The program with the fault; AssertionError where the text is another one by now."""
        function = next((one for one in _list_functions(source) if one.name == self.function), None)
        assert function is not None, f"there is no {self.function}"
        lines = source.splitlines(keepends=True)
        begin = sum(map(len, lines[: function.lineno - 1 + self.line])) + self.column
        assert source.startswith(self.old, begin), f"line {self.line} does not read {self.old!r}"
        return source[:begin] + self.new + source[begin + len(self.old) :]


def list_places(source: str, family: str) -> Iterator[Place]:
    """Every place of a family, in source order. Whether the text still parses with the change
    is_sound says, which takes long."""
    lines, operator = source.splitlines(keepends=True), FAMILIES[family]
    for function in _list_functions(source):
        for node in (each for statement in function.body for each in _walk(statement)):
            for name, changed, new in operator(node):
                old = _read(changed, lines)
                if old and old != new:
                    yield Place(
                        family,
                        name,
                        function.name,
                        changed.lineno - function.lineno,  # pyright: ignore
                        changed.col_offset,  # pyright: ignore
                        old,
                        new,
                    )


def is_sound(place: Place, source: str) -> bool:
    try:
        ast.parse(place.apply(source))
    except (AssertionError, SyntaxError):
        return False
    return True


@cache
def _list_functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


def _read(node: ast.AST, lines: Sequence[str]) -> str:
    """Text of a node; empty where letters of several bytes make its columns uncertain."""
    first, last, begin, end = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset  # pyright: ignore
    own = list(lines[first - 1 : last])
    own[-1] = own[-1][:end]
    return "".join(own)[begin:] if all(line.isascii() for line in own) else ""


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """What a `raise` says and what a docstring says is nobody's behaviour."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        return
    yield node
    for child in () if isinstance(node, ast.Raise) else ast.iter_child_nodes(node):
        yield from _walk(child)


def change_guard(node: ast.AST) -> Iterator[Change]:
    """A refusal that never comes, or comes where it should not, or looks at less."""
    if isinstance(node, ast.Raise):
        yield "removed_raise", node, "pass"
    if isinstance(node, ast.If):
        yield "negated_condition", node.test, f"not ({ast.unparse(node.test)})"
    yield from (
        ("dropped_operand", node, f"({ast.unparse(other)})") for other in drop_operand(node)
    )


def change_comparison(node: ast.AST) -> Iterator[Change]:
    for name, operator in (("comparison_flip", flip_comparison), ("boundary", move_boundary)):
        yield from ((name, node, ast.unparse(other)) for other in operator(node))


def drop_write(node: ast.AST) -> Iterator[Change]:
    """A change of the state that is not made."""
    match node:
        case (
            ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.AugAssign() | ast.Delete()
        ):
            yield "dropped_write", node, "pass"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in _WRITERS:
            yield "dropped_write", node, "pass"
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="execute" | "executemany"),
                args=[ast.Constant(value=str(sql)), *_],
            )
        ):
            if _WRITES.match(sql):
                yield "dropped_write", node, "pass"
        case _:
            return


def change_number(node: ast.AST) -> Iterator[Change]:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        yield "one_more", node, repr(node.value + 1)
        yield "one_less", node, repr(node.value - 1) if node.value >= 1 else f"({node.value - 1!r})"


def change_sign(node: ast.AST) -> Iterator[Change]:
    """In sums, in `+=`, and in the sums of SQL."""
    yield from (("arithmetic_swap", node, ast.unparse(other)) for other in swap_arithmetic(node))
    if sql := _read_sql(node):
        yield from _replace(
            node, sql, _SIGN, "sql_sign", lambda sign: f" {'-' if sign == '+' else '+'} "
        )


def change_sql_condition(node: ast.AST) -> Iterator[Change]:
    sql = _read_sql(node)
    if sql and (where := _WHERE.search(sql)):
        yield from _replace(
            node, sql, _COMPARISON, "sql_comparison", _COMPARES.__getitem__, where.end()
        )
        yield from _replace(
            node,
            sql,
            re.compile(r" (AND|OR) "),
            "sql_connective",
            lambda word: " OR " if word == "AND" else " AND ",
        )


def _read_sql(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ""
    return node.value if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b", node.value) else ""


def _replace(
    node: ast.AST, sql: str, pattern: re.Pattern[str], name: str, swap: Callable[[str], str], begin: int = 0
) -> Iterator[Change]:  # fmt: skip
    for found in pattern.finditer(sql, begin):
        yield name, node, repr(sql[: found.start()] + swap(found[1]) + sql[found.end() :])


FAMILIES: dict[str, Callable[[ast.AST], Iterator[Change]]] = {
    "guards": change_guard,
    "comparisons": change_comparison,
    "writes": drop_write,
    "numbers": change_number,
    "signs": change_sign,
    "sql_conditions": change_sql_condition,
}
