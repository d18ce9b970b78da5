"""The database of a domain: its schema as SQL, what an end state has to agree on, and the tables
each operation touches.

collections ──columns sorted──► create table … references …      operations ──read as trees──► tool → tables read, tables written
"""

import ast
from collections.abc import Iterator

from offline.columns import list_rows, list_writes, sort_columns
from offline.domain import Collection, Domain, Operation
from offline.formula import FOLDS, parse_expression, parse_statement
from offline.query import name
from schemas.database import Policy
from schemas.folder import Touch

CENT = 0.005
"""Decimals are amounts to two places: what differs by less is the same amount."""


def write_schema(domain: Domain) -> str:
    """Tables with keys, types and references."""
    sorts, owned = sort_columns(domain), list_references(domain)
    return (
        "\n\n".join(
            _write_table(
                title,
                collection,
                {attribute: sorts[title][attribute] for attribute in collection.attributes},
                owned,
            )
            for title, collection in domain.collections.items()
        )
        + "\n"
    )


def list_references(domain: Domain) -> dict[tuple[str, str], str]:
    """(table, column) → the table it refers to, where every row has somebody to refer to."""
    empty = {
        (collection, attribute)
        for operation in domain.operations.values()
        for collection, attribute, value in list_writes(operation, domain)
        if any(isinstance(each, ast.Constant) and each.value == "" for each in ast.walk(value))
    }
    return {
        (title, attribute): source.ref
        for title, collection in domain.collections.items()
        for attribute, source in collection.attributes.items()
        if source.ref and (title, attribute) not in empty and source.always is None
    }


def list_policies(domain: Domain) -> dict[str, Policy | float]:
    """Keys are given on the way; decimals agree to the cent."""
    sorts = sort_columns(domain)
    policies: dict[str, Policy | float] = {f"{title}.id": "exempt" for title in sorts}
    policies.update(
        {
            f"{title}.{each}": CENT
            for title, columns in sorts.items()
            for each, sort in columns.items()
            if sort == "REAL"
        }
    )
    return policies


def list_touches(domain: Domain) -> dict[str, Touch]:
    """Tool → tables."""
    return {title: _find_touch(operation, domain) for title, operation in domain.operations.items()}


def _write_table(
    title: str, collection: Collection, sorts: dict[str, str], owned: dict[tuple[str, str], str]
) -> str:
    lines = ["    id TEXT PRIMARY KEY"]
    for attribute in collection.attributes:
        refers = owned.get((title, attribute))
        lines.append(
            f"    {name(attribute)} {sorts[attribute]} NOT NULL"
            + (f" REFERENCES {name(refers)} (id)" if refers else "")
        )
    return f"CREATE TABLE {name(title)} (\n" + ",\n".join(lines) + "\n);"


def _find_touch(operation: Operation, domain: Domain) -> Touch:
    trees = [parse_expression(each.that) for each in operation.must] + [
        parse_expression(operation.gives)
    ]
    steps = [parse_statement(each.do) for each in (*operation.fetch, *operation.then)]
    reads = {each.row for each in operation.takes if each.row} | {
        each.find.partition(".")[0] for each in operation.takes if each.find
    }
    reads |= {table for tree in (*trees, *steps) for table in _list_asked(tree)}
    writes = {table for table, _, _ in list_writes(operation, domain)}
    rows = list_rows(operation)
    if operation.effect == "change":
        reads |= {rows[operation.gives]} if operation.gives in rows else set()
    made = {each for step in steps for each in list_made(step)}
    return Touch(reads=sorted(reads | (writes - made)), writes=sorted(writes))


def _list_asked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=word), args=[ast.Name(id=table), *_]) if word in FOLDS:
                yield table
            case _:
                pass


def list_made(tree: ast.AST) -> Iterator[str]:
    """Tables that a statement makes a row of."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="new"), args=[ast.Name(id=table), *_]):
                yield table
            case _:
                pass
