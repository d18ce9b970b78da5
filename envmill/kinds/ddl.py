"""Reader of `schema.sql`: tables, columns and keys as text says them. Nothing is executed; the jail
shows later whether it is true.

schema.sql ──tokens──► statements ──► create table: columns, primary key, references; indexes, triggers and views are passed over
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from envmill.base.errors import BuildError
from schemas.database import Column, Table

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[\w$.]+|\s+|.""",
    re.DOTALL,
)
_TYPE_ENDS = frozenset(
    (
        "constraint",
        "primary",
        "not",
        "null",
        "unique",
        "check",
        "default",
        "collate",
        "references",
        "generated",
        "as",
        "on",
        "deferrable",
    )
)
_TABLE_RULES = frozenset(("constraint", "primary", "unique", "check", "foreign"))


@dataclass(frozen=True)
class Declared:
    """A table as its statement declares it."""

    table: Table
    counted: bool
    """Its key is one that SQLite gives: a single INTEGER."""


def read_schema(text: str) -> list[Declared]:
    """Tables in the order of the file, or BuildError with the mend."""
    found = [_read_table(tokens) for tokens in _split_statements(text) if _is_table(tokens)]
    if not found:
        raise BuildError("schema.sql makes no table: write at least one CREATE TABLE.")
    counted = {one.table.name for one in found}
    if len(counted) < len(found):
        raise BuildError("schema.sql makes a table twice: keep one of them.")
    return [
        _point_to_keys(one, {other.table.name: other.table for other in found}) for one in found
    ]


def _split_statements(text: str) -> Iterator[list[str]]:
    """Tokens of each statement, comments and spaces taken out; a trigger ends with its END."""
    tokens: list[str] = []
    for token in _TOKEN.findall(text):
        if token.isspace() or token.startswith(("--", "/*")):
            continue
        if token != ";":
            tokens.append(token)
        elif tokens and (
            "trigger" not in map(str.lower, tokens[:4]) or tokens[-1].lower() == "end"
        ):
            yield tokens
            tokens = []
    if tokens:
        yield tokens


def _is_table(tokens: Sequence[str]) -> bool:
    words = [token.lower() for token in tokens[:2]]
    if words[:1] != ["create"] or words[1:] not in (
        ["table"],
        ["index"],
        ["unique"],
        ["trigger"],
        ["view"],
    ):
        begin = " ".join(tokens[:4])
        raise BuildError(
            f"schema.sql has a statement that begins {begin!r}: it may only CREATE tables, "
            "indexes, triggers and views."
        )
    return words[1] == "table"


def _read_table(tokens: Sequence[str]) -> Declared:
    at = 5 if [token.lower() for token in tokens[2:5]] == ["if", "not", "exists"] else 2
    name = _unquote(tokens[at]) if at < len(tokens) else "a table"
    if at + 1 >= len(tokens) or tokens[at + 1] != "(":
        raise BuildError(
            f"schema.sql makes {name} in another way than CREATE TABLE name (columns): write its "
            "columns out."
        )
    parts = _split_parts(tokens[at + 1 :])
    columns: dict[str, Column] = {}
    key: list[str] = []
    for part in parts:
        if part[0].lower() in _TABLE_RULES:
            key = _read_rule(part, columns) or key
        elif not _is_computed(part):
            columns[_unquote(part[0])] = _read_column(part)
            key = [_unquote(part[0])] if _find(part, "primary", "key") else key
    if not key or not set(key) <= set(columns):
        raise BuildError(
            f"schema.sql gives {name} no primary key, so its rows cannot be told apart: declare "
            "one."
        )
    table = Table(name=name, key=key, columns=list(columns.values()))
    return Declared(
        table,
        len(key) == 1
        and columns[key[0]].type.upper() == "INTEGER"
        and not _find(tokens, "without", "rowid"),
    )


def _split_parts(tokens: Sequence[str]) -> list[list[str]]:
    """What stands between the table's parentheses, at its commas."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth == 0:
            break
        if token == "," and depth == 1:
            parts.append([])
        elif depth > 1 or token != "(":
            parts[-1].append(token)
    return [part for part in parts if part]


def _read_column(part: Sequence[str]) -> Column:
    end = next(
        (place for place, token in enumerate(part) if place and token.lower() in _TYPE_ENDS),
        len(part),
    )
    references = ""
    if (place := _find(part, "references")) is not None:
        references = _read_target(part[place + 1 :])[0]
    return Column(name=_unquote(part[0]), type=" ".join(part[1:end]), references=references)


def _read_rule(part: Sequence[str], columns: dict[str, Column]) -> list[str]:
    """The primary key, where the rule is one; references go to the columns they are of."""
    if (place := _find(part, "primary", "key")) is not None:
        return _read_names(part[place + 2 :])
    if (place := _find(part, "foreign", "key")) is not None and (
        target := _find(part, "references")
    ) is not None:
        names = _read_names(part[place + 2 :])
        for name, reference in zip(
            names, _read_target(part[target + 1 :], len(names)), strict=True
        ):
            if name in columns:
                columns[name] = columns[name].model_copy(update={"references": reference})
    return []


def _read_target(tokens: Sequence[str], count: int = 1) -> list[str]:
    """`table.column` each; the table alone where its columns are left out."""
    if not tokens:
        raise BuildError("schema.sql has a REFERENCES that names no table: name it.")
    table = _unquote(tokens[0])
    names = _read_names(tokens[1:]) if tokens[1:2] == ["("] else [""] * count
    if len(names) != count:
        raise BuildError(
            f"schema.sql lets {count} columns refer to {len(names)} of {table}: name as many."
        )
    return [f"{table}.{name}" for name in names]


def _point_to_keys(one: Declared, tables: dict[str, Table]) -> Declared:
    """A reference that names no column means the key."""
    columns: list[Column] = []
    for column in one.table.columns:
        table, dot, name = column.references.partition(".")
        if dot and table not in tables:
            raise BuildError(
                f"schema.sql lets {one.table.name}.{column.name} refer to {table}, which it does "
                "not make."
            )
        full = f"{table}.{tables[table].key[0]}" if dot and not name else column.references
        columns.append(column.model_copy(update={"references": full}))
    return replace(one, table=one.table.model_copy(update={"columns": columns}))


def _read_names(tokens: Sequence[str]) -> list[str]:
    """The names in the parentheses that open here."""
    end = tokens.index(")") if ")" in tokens else len(tokens)
    return [
        _unquote(token)
        for token in tokens[1:end]
        if token != "," and token.lower() not in ("asc", "desc")
    ]


def _is_computed(part: Sequence[str]) -> bool:
    """Generated columns follow from others and are no part of a state."""
    words = [token.lower() for token in part]
    return "generated" in words or any(
        one == "as" and other == "(" for one, other in pairwise(words)
    )


def _find(tokens: Sequence[str], *words: str) -> int | None:
    lower = [token.lower() for token in tokens]
    return next(
        (place for place in range(len(lower)) if tuple(lower[place : place + len(words)]) == words),
        None,
    )


def _unquote(token: str) -> str:
    if token[:1] in ('"', "`", "["):
        return token[1:-1].replace('""', '"')
    return token
