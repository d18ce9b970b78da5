"""A program's text as a tree, parsed once for all gates that read it."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

from schemas.environment import Environment


def list_nodes(environment: Environment) -> Iterator[tuple[str, Sequence[ast.AST] | None]]:
    """Every module's path and nodes; None for one that cannot be parsed here."""
    for path, text in sorted(environment.files.items()):
        if path.endswith(".py"):
            yield path, _parse(text)


@lru_cache(maxsize=16)
def _parse(text: str) -> Sequence[ast.AST] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            return list(ast.walk(ast.parse(text)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return None
