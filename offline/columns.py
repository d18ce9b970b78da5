"""What the columns of a domain's tables hold: texts, whole numbers or decimals, as its sources and
its operations fill them.

attribute's own source ─┐
new(…), x.name = …  ────┴─► join: text · whole · decimal, until nothing changes any more
"""

import ast
from collections.abc import Iterator
from typing import Literal, TypeAlias

from offline.domain import Attribute, Domain, Number, Operation, State
from offline.formula import new_row, parse_expression, parse_statement

Sort: TypeAlias = Literal["TEXT", "INTEGER", "REAL", ""]
"""A column's type; empty while nothing is known."""
Columns: TypeAlias = dict[str, dict[str, Sort]]

_ANNOTATED: dict[str, Sort] = {"int": "INTEGER", "float": "REAL", "str": "TEXT"}
_TEXTS = frozenset(("today", "after", "later"))
_WHOLE = frozenset(("days", "count"))


def sort_columns(domain: Domain) -> Columns:
    """Collection → attribute → type."""
    found: Columns = {
        name: {attribute: _sort_source(source) for attribute, source in each.attributes.items()}
        for name, each in domain.collections.items()
    }
    while _spread(domain, found):
        pass
    return {
        name: {attribute: sort or "TEXT" for attribute, sort in each.items()}
        for name, each in found.items()
    }


def settle_state(domain: Domain, state: State) -> State:
    """The state as a database holds it: a decimal column has no whole numbers."""
    decimal = {
        name: [each for each, sort in sorts.items() if sort == "REAL"]
        for name, sorts in sort_columns(domain).items()
    }
    return {
        name: {
            key: row | {each: float(row[each]) for each in decimal[name] if each in row}
            for key, row in rows.items()
        }
        for name, rows in state.items()
    }


def sort_given(operation: Operation, domain: Domain) -> dict[str, Sort]:
    """Name → type of what an operation gives that makes up its reply of several values."""
    reader = _Reader(domain, sort_columns(domain), operation)
    list(reader.read())
    return reader.read_given()


def list_rows(operation: Operation) -> dict[str, str]:
    """Name inside the operation → collection whose row it is."""
    found = {each.local: each.row for each in operation.takes if each.row}
    for step in (*operation.fetch, *operation.then):
        for node in ast.walk(parse_statement(step.do)):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(
                        func=ast.Name(id="get" | "new"), args=[ast.Name(id=collection), *_]
                    ),
                ):
                    found[name] = collection
                case ast.For(
                    target=ast.Name(id=name), iter=ast.Call(args=[ast.Name(id=collection), _])
                ):
                    found[name] = collection
                case _:
                    pass
    return found


def list_writes(operation: Operation, domain: Domain) -> Iterator[tuple[str, str, ast.expr]]:
    """(collection, attribute, value) of everything a change puts anywhere."""
    rows = list_rows(operation)
    for step in (*operation.fetch, *operation.then):
        for node in ast.walk(parse_statement(step.do)):
            match node:
                case ast.Call(func=ast.Name(id="new")) as call:
                    collection, values = new_row(call, domain)
                    yield from ((collection, each, value) for each, value in values.items())
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)], value=value
                ):
                    yield rows[owner], name, value
                case ast.AugAssign(
                    target=ast.Attribute(value=ast.Name(id=owner), attr=name), value=value
                ):
                    yield rows[owner], name, value
                case _:
                    pass


def _sort_source(source: Attribute) -> Sort:
    if source.between:
        return (
            "REAL"
            if any(isinstance(each, float) for each in (*source.between, source.step))
            else "INTEGER"
        )
    if source.always is not None:
        return _sort_value(source.always)
    return "TEXT" if source.one_of or source.pattern or source.ref or source.day else ""


def _sort_value(value: str | Number) -> Sort:
    return "TEXT" if isinstance(value, str) else "REAL" if isinstance(value, float) else "INTEGER"


def _join(*sorts: Sort) -> Sort:
    known = {each for each in sorts if each}
    return "TEXT" if "TEXT" in known else "REAL" if "REAL" in known else "INTEGER" if known else ""


def _spread(domain: Domain, found: Columns) -> bool:
    """One round over all operations; whether a column's type became another one."""
    changed = False
    for operation in domain.operations.values():
        reader = _Reader(domain, found, operation)
        for collection, attribute, sort in list(reader.read()):
            joined = _join(found[collection][attribute], sort)
            changed |= joined != found[collection][attribute]
            found[collection][attribute] = joined
    return changed


class _Reader:
    """One operation read for the types of what it writes."""

    def __init__(self, domain: Domain, found: Columns, operation: Operation) -> None:
        self._domain, self._found, self._operation = domain, found, operation
        self._rows = list_rows(operation)
        self._plain: dict[str, Sort] = {
            each.name: _ANNOTATED[each.annotation] for each in operation.takes
        }
        self._plain |= {name: _sort_value(value) for name, value in domain.bounds.items()}

    def read(self) -> Iterator[tuple[str, str, Sort]]:
        """(collection, attribute, type) of every write."""
        for step in (*self._operation.fetch, *self._operation.then):
            match parse_statement(step.do):
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in self._rows:
                    self._plain[name] = self._sort(value)
                case _:
                    pass
        for collection, name, value in list_writes(self._operation, self._domain):
            yield collection, name, self._sort(value)

    def read_given(self) -> dict[str, Sort]:
        """Nothing where it gives a row or rows."""
        match parse_expression(self._operation.gives):
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {
                    str(key.value): self._sort(value)
                    for key, value in pairs
                    if isinstance(key, ast.Constant)
                }
            case _:
                return {}

    def _sort(self, node: ast.expr, row: str = "") -> Sort:
        match node:
            case ast.Constant(value=str() | int() | float() as value):
                return _sort_value(value)
            case ast.Name(id=name):
                return self._plain.get(name, "")
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                collection = row if owner == "row" and row else self._rows.get(owner, "")
                return "TEXT" if name == "id" else self._found.get(collection, {}).get(name, "")
            case ast.Attribute(
                value=ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=collection), _]),
                attr=name,
            ):
                return "TEXT" if name == "id" else self._found[collection].get(name, "")
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return _join(self._sort(left, row), self._sort(right, row))
            case ast.UnaryOp(operand=operand):
                return self._sort(operand, row)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._sort_call(name, arguments, row)
            case _:
                return ""

    def _sort_call(self, name: str, arguments: list[ast.expr], row: str) -> Sort:
        if name in _TEXTS:
            return "TEXT"
        if name in _WHOLE:
            return "INTEGER"
        if name in ("total", "highest") and isinstance(arguments[0], ast.Name):
            return self._sort(arguments[1], arguments[0].id)
        if name in ("min", "max"):
            sorts: list[Sort] = [self._sort(each, row) for each in arguments]
            return _join(*sorts)
        return "REAL" if name == "rounded" else ""
