"""What the operations of a domain promise: the columns that each selects by, looks at and writes,
and its conditions as statements."""

import ast
from collections.abc import Iterator

from offline.columns import Columns, list_rows, list_writes, sort_columns
from offline.database import list_made, list_references
from offline.domain import Domain, Operation
from offline.formula import FOLDS, parse_expression, parse_statement
from schemas.database import Mention, Promise, Sort

_SORTS: dict[str, Sort] = {"TEXT": "text", "INTEGER": "whole", "REAL": "decimal"}
_ROWS = ("rows", "each")
"""Folds that hold whole rows."""
Place = tuple[str, str]


def list_promises(domain: Domain) -> dict[str, Promise]:
    """Tool → its promise."""
    speaker = _Speaker(domain, sort_columns(domain), list_references(domain))
    return {name: speaker.speak(operation) for name, operation in domain.operations.items()}


class _Speaker:
    def __init__(self, domain: Domain, sorts: Columns, owned: dict[Place, str]) -> None:
        self._domain, self._sorts, self._owned = domain, sorts, owned

    def speak(self, operation: Operation) -> Promise:
        made = [table for step in _list_steps(operation) for table in list_made(step)]
        takes = {
            one.name: place for one in operation.takes if (place := _find_taken(one.row, one.find))
        }
        writes = [(table, column) for table, column, _ in list_writes(operation, self._domain)]
        return Promise(
            takes={name: self._mention(place) for name, place in takes.items()},
            looks_at=self._mention_all(_list_looks(operation, self._domain)),
            sets=self._mention_all((table, column) for table, column in writes if column != "id"),
            makes=list(dict.fromkeys(made)),
            requires=[
                *self._list_required(operation),
                *(self._domain.render_rule(rule) for rule in operation.must),
            ],
            ensures=list(dict.fromkeys(self._list_ensured(operation))),
        )

    def _mention(self, place: Place) -> Mention:
        table, column = place
        if column == "id":
            return Mention(of=f"{table}.id", sort="key")
        return Mention(
            of=f"{table}.{column}",
            sort=_SORTS[self._sorts[table][column]],
            refers=self._owned.get(place, ""),
        )

    def _mention_all(self, places: Iterator[Place]) -> list[Mention]:
        return [self._mention(place) for place in dict.fromkeys(places)]

    def _list_required(self, operation: Operation) -> Iterator[str]:
        rows = list_rows(operation)
        yield from (
            f"{rows[move.row]}.status is {' or '.join(move.before)}"
            for move in operation.moves
            if move.row in rows
        )

    def _list_ensured(self, operation: Operation) -> Iterator[str]:
        """What is always written last is said so that it can be compared; what is written at times,
        or is worked out, in other words."""
        always = _list_always(operation)
        for table, column, value in list_writes(operation, self._domain):
            noun = self._domain.collections[table].noun
            fixed = always.get((table, column))
            is_fixed = isinstance(value, ast.Constant) and value.value == fixed
            yield (
                f"{table}.{column} is {fixed}" if fixed and is_fixed else f"{noun} {column} is set"
            )


def _list_always(operation: Operation) -> dict[Place, str]:
    """Places that get a fixed text in every case, of tables of which one row is written."""
    rows, found = list_rows(operation), dict[Place, str]()
    for tree in (parse_statement(step.do) for step in operation.then):
        match tree:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)],
                value=ast.Constant(value=str() as value),
            ):
                found[rows[owner], name] = value
            case _:
                for node in ast.walk(tree):
                    if (
                        isinstance(node, ast.Attribute)
                        and isinstance(node.value, ast.Name)
                        and node.value.id in rows
                    ):
                        found.pop((rows[node.value.id], node.attr), None)
    return found


def _find_taken(row: str, find: str) -> Place | None:
    if row:
        return row, "id"
    table, _, column = find.partition(".")
    return (table, column) if find else None


def _list_steps(operation: Operation) -> list[ast.stmt]:
    return [parse_statement(each.do) for each in (*operation.fetch, *operation.then)]


def _list_looks(operation: Operation, domain: Domain) -> Iterator[Place]:
    """Columns that decide, and those that are given back: of a whole row all of them."""
    rows = list_rows(operation)
    for tree in (
        [parse_expression(each.that) for each in operation.must]
        + _list_steps(operation)
        + [parse_expression(operation.gives)]
    ):
        yield from _list_read(tree, rows, "", domain)
    if operation.gives in rows:
        yield from _list_all(rows[operation.gives], domain)


def _list_all(table: str, domain: Domain) -> Iterator[Place]:
    yield table, "id"
    yield from ((table, column) for column in domain.collections[table].attributes)


def _list_read(tree: ast.AST, rows: dict[str, str], row: str, domain: Domain) -> Iterator[Place]:
    """`row` is the table whose row a fold is at."""
    match tree:
        case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Load()) if (
            table := row if owner == "row" else rows.get(owner)
        ):
            yield table, name
        case ast.Attribute(
            value=ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=table), key]), attr=name
        ):
            yield table, name
            yield from _list_read(key, rows, row, domain)
        case ast.Call(func=ast.Name(id=word), args=[ast.Name(id=table), *inner]) if word in FOLDS:
            yield from _list_all(table, domain) if word in _ROWS else [(table, "id")]
            for one in inner:
                yield from _list_read(one, rows, row if word == "get" else table, domain)
        case ast.AugAssign(
            target=ast.Attribute(value=ast.Name(id=owner), attr=name), value=value
        ) if owner in rows:
            yield rows[owner], name
            yield from _list_read(value, rows, row, domain)
        case _:
            for child in ast.iter_child_nodes(tree):
                yield from _list_read(child, rows, row, domain)
