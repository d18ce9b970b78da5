"""Signatures: what goes into each operation and what comes out of it, told as types before there is
a program."""

import ast
from collections.abc import Iterator

from offline.columns import list_rows, sort_columns, sort_given
from offline.domain import Domain, Operation, OperationParameter
from offline.formula import parse_expression
from schemas.base import Json
from schemas.sketch import Signature

_TYPES = {"TEXT": "string", "INTEGER": "integer", "REAL": "number"}
_ANNOTATED = {"str": "string", "int": "integer", "float": "number"}


def list_signatures(domain: Domain) -> dict[str, Signature]:
    """Tool → types, as its program will have them."""
    return {
        name: Signature(inputs=_take(each), outputs=_give(each, domain))
        for name, each in domain.operations.items()
    }


def _take(operation: Operation) -> Json:
    properties = {each.name: _describe(each) for each in operation.takes}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _describe(parameter: OperationParameter) -> Json:
    return {"type": _ANNOTATED[parameter.annotation], "description": parameter.about}


def _give(operation: Operation, domain: Domain) -> Json:
    rows, tree = list_rows(operation), parse_expression(operation.gives)
    match tree:
        case ast.Name(id=name) if name in rows:
            return _describe_row(rows[name], domain)
        case ast.Dict():
            properties = {
                name: {"type": _TYPES[sort]} if sort else {}
                for name, sort in sort_given(operation, domain).items()
            }
            return {"type": "object", "properties": properties, "required": list(properties)}
        case _:
            table = next(_list_tables(tree), "")
            return {"type": "array", "items": _describe_row(table, domain)} if table else {}


def _describe_row(table: str, domain: Domain) -> Json:
    types = {"id": "string"} | {
        name: _TYPES[sort] for name, sort in sort_columns(domain)[table].items()
    }
    return {
        "type": "object",
        "properties": {name: {"type": one} for name, one in types.items()},
        "required": list(types),
    }


def _list_tables(tree: ast.expr) -> Iterator[str]:
    """The table whose rows are listed; of pages, the one inside."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="rows"), args=[ast.Name(id=table), *_]):
                yield table
            case _:
                pass
