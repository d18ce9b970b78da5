"""Folds over a collection as statements of SQL: what speaks of the row becomes SQL, everything else
is bound from outside.

count(loans, row.tool_id == tool.id)  ──►  self._db.query("SELECT count(*) AS found FROM loans WHERE tool_id = ?", (tool["id"],))
"""

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field

Bind = Callable[[ast.expr], str]
"""Renders as source what is bound from outside."""

COMPARED: dict[type[ast.AST], str] = {
    ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "IN", ast.NotIn: "NOT IN",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
}  # fmt: skip
_WORDS = """abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case cast check
    collate column commit conflict constraint create cross current current_date current_time current_timestamp database default deferrable
    deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists explain fail filter first following
    for foreign from full generated glob group groups having if ignore immediate in index indexed initially inner insert instead intersect
    into is isnull join key last left like limit match materialized natural no not nothing notnull null nulls of offset on or order others
    outer over partition plan pragma preceding primary query raise range recursive references regexp reindex release rename replace
    restrict returning right rollback row rows savepoint select set table temp temporary then ties to transaction trigger unbounded union
    unique update using vacuum values view virtual when where window with without"""
_RESERVED = frozenset(_WORDS.split())
"""Names that SQLite reads as words of its own."""


def name(text: str) -> str:
    """A table's or column's name as SQL."""
    return f'"{text}"' if text in _RESERVED else text


def quote(sql: str) -> str:
    """A statement as a string literal of the program."""
    return f"'{sql}'" if '"' in sql and "'" not in sql else json.dumps(sql, ensure_ascii=False)


def bind(values: list[str]) -> str:
    """Parameters of a statement as they follow it; none are left out."""
    return f", ({', '.join(values)}{',' if len(values) == 1 else ''})" if values else ""


@dataclass
class Clause:
    """SQL about the rows of one table, and what is bound in it so far, in order."""

    table: str
    bind: Bind
    values: list[str] = field(default_factory=list[str])

    def render(self, node: ast.expr) -> str:
        """A condition or value as SQL."""
        if not _speaks_of_row(node):
            return self._put(node)
        match node:
            case ast.Attribute(value=ast.Name(id="row"), attr=attribute):
                return name(attribute)
            case ast.Attribute(
                value=ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=other), key]),
                attr=attribute,
            ):
                outer = f"{name(self.table)}.{self.render(key)}"
                return (
                    f"(SELECT {name(attribute)} FROM {name(other)} WHERE {name(other)}.id = "
                    f"{outer})"
                )
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return f"{self.render(left)} {COMPARED[type(operator)]} {self.render(right)}"
            case ast.BinOp(left=left, op=operator, right=right):
                return f"({self.render(left)} {COMPARED[type(operator)]} {self.render(right)})"
            case ast.BoolOp(op=word, values=values):
                return (" AND " if isinstance(word, ast.And) else " OR ").join(
                    self._inner(each) for each in values
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"NOT ({self.render(operand)})"
            case ast.Call(func=ast.Name(id="matches"), args=[text, query]):
                rendered = self.render(text)
                self.values.append(f"{self.bind(query)}.strip().lower()")
                return f"instr(lower({rendered}), ?) > 0"
            case ast.Call(func=ast.Name(id="days"), args=[first, last]):
                # Bound in the order in which they stand in the statement.
                until = self.render(last)
                return f"CAST(julianday({until}) - julianday({self.render(first)}) AS INTEGER)"
            case _:
                raise ValueError(f"no SQL for {ast.dump(node)}")

    def _inner(self, node: ast.expr) -> str:
        text = self.render(node)
        return f"({text})" if isinstance(node, ast.BoolOp) else text

    def _put(self, node: ast.expr) -> str:
        """A constant stands in the statement, anything else is bound."""
        match node:
            case ast.Constant(value=str() as text):
                doubled = text.replace("'", "''")
                return f"'{doubled}'"
            case ast.Constant(value=value):
                return repr(value)
            case ast.Tuple(elts=items):
                return f"({', '.join(self._put(each) for each in items)})"
            case _:
                self.values.append(self.bind(node))
                return "?"


def render_fold(node: ast.Call, render_bound: Bind) -> str:
    """A fold as an expression of the program; empty where this is none."""
    match node:
        case ast.Call(
            func=ast.Name(id="page"),
            args=[ast.Call(func=ast.Name(id="rows"), args=[ast.Name(id=table), *where]), most],
        ):
            return _ask(
                "*", table, where, render_bound, " ORDER BY rowid LIMIT ?", [render_bound(most)]
            )
        case ast.Call(func=ast.Name(id="rows" | "each"), args=[ast.Name(id=table), *where]):
            return _ask("*", table, where, render_bound, " ORDER BY rowid")
        case ast.Call(func=ast.Name(id="some"), args=[ast.Name(id=table), *where]):
            return _ask("id", table, where, render_bound, " LIMIT 1")
        case ast.Call(func=ast.Name(id="count"), args=[ast.Name(id=table), *where]):
            return _ask("count(*) AS found", table, where, render_bound) + '[0]["found"]'
        case ast.Call(
            func=ast.Name(id="total" | "highest" as word), args=[ast.Name(id=table), amount, *where]
        ):
            clause = Clause(table, render_bound)
            what = (
                f"coalesce({'sum' if word == 'total' else 'max'}({clause.render(amount)}), 0) AS "
                "found"
            )
            return _ask(what, table, where, render_bound, clause=clause) + '[0]["found"]'
        case _:
            return ""


def render_condition(table: str, where: ast.expr, render_bound: Bind) -> tuple[str, list[str]]:
    """A condition on a table's rows, and what is bound in it."""
    clause = Clause(table, render_bound)
    return clause.render(where), clause.values


def _ask(
    what: str,
    table: str,
    where: list[ast.expr],
    render_bound: Bind,
    tail: str = "",
    bound: list[str] | None = None,
    clause: Clause | None = None,
) -> str:
    clause = clause or Clause(table, render_bound)
    condition = f" WHERE {clause.render(where[0])}" if where else ""
    sql = f"SELECT {what} FROM {name(table)}{condition}{tail}"
    return f"self._db.query({quote(sql)}{bind([*clause.values, *(bound or [])])})"


def _speaks_of_row(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "row" for each in ast.walk(node))
