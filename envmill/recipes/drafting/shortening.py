"""What an author need not be shown: text that stands in the prompt already, and rows that teach
nothing new."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from schemas.base import Json, is_object

ROWS = 3
"""Rows of a table that its programmer is shown."""
_FEW = 8
"""A column with at most so many different texts holds a fixed set of values, such as a status."""


@lru_cache(maxsize=64)
def strip_docstrings(source: str) -> str:
    """A program without the docstrings of its module, classes and public methods: its tools'
    descriptions are shown apart from it. Every scenario of an environment asks for the same one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    told = {
        number
        for node in _list_described(tree)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return "\n".join(
        line for number, line in enumerate(source.split("\n"), 1) if number not in told
    )


def _list_described(tree: ast.Module) -> Iterator[ast.stmt]:
    """Docstrings that stand on lines of their own, before other statements."""
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            or ast.get_docstring(node) is None
            or len(node.body) < 2
        ):
            continue
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            continue
        described, after = node.body[0], node.body[1]
        if (isinstance(node, ast.Module) or described.lineno > node.lineno) and after.lineno > (
            described.end_lineno or 0
        ):
            yield described


def sample_rows(rows: dict[str, Json]) -> dict[str, Json]:
    """Of each table the first rows, and each later one that holds a value of a fixed set which
    those before it lack."""
    return {table: _sample(found) if is_object(found) else found for table, found in rows.items()}


def _sample(table: dict[str, Json]) -> dict[str, Json]:
    seen: set[tuple[str, str]] = set()
    kept: dict[str, Json] = {}
    for key, row in table.items():
        held = (
            {(name, value) for name, value in row.items() if isinstance(value, str)}
            if is_object(row)
            else set[tuple[str, str]]()
        )
        new = {pair for pair in held - seen if _is_fixed(pair[0], table)}
        if len(kept) < ROWS or new:
            kept[key] = row
            seen |= held
    return kept


def _is_fixed(name: str, table: dict[str, Json]) -> bool:
    """Whether a column's values repeat, as those of a status do: at most half as many values as
    rows, and few."""
    values = [
        row[name] for row in table.values() if is_object(row) and isinstance(row.get(name), str)
    ]
    return not name.endswith("_id") and len(set(values)) <= min(_FEW, len(values) // 2)
