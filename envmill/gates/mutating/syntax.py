"""The syntax trees of a program, parsed once for all gates."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

from schemas.environment import Environment


def list_nodes(environment: Environment) -> Iterator[tuple[str, Sequence[ast.AST] | None]]:
    """Path and nodes of every module; None for a module that cannot be parsed here."""
    for path, text in sorted(environment.files.items()):
        if path.endswith(".py"):
            yield path, _parse(text)


def holds_number(environment: Environment, tool: str, number: float) -> bool:
    """Whether the code of a tool contains a number or its inverse: its method, methods that are no
    tools, and constants they name. True if a module cannot be parsed."""
    others = {one.name for one in environment.tools} - {tool}
    for _, nodes in list_nodes(environment):
        if nodes is None:
            return True
        methods = [
            node for node in nodes if isinstance(node, ast.FunctionDef) and node.name not in others
        ]
        held = [part for method in methods for part in ast.walk(method)]
        named = {part.id for part in held if isinstance(part, ast.Name)}
        told = [
            node.value
            for node in nodes
            if isinstance(node, ast.Assign) and named.intersection(_list_targets(node))
        ]
        if any(
            _is_number(part, number)
            for part in (*held, *(part for value in told for part in ast.walk(value)))
        ):
            return True
    return False


def _list_targets(node: ast.Assign) -> Iterator[str]:
    yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _is_number(node: ast.AST, number: float) -> bool:
    return (
        isinstance(node, ast.Constant)
        and not isinstance(node.value, bool)
        and node.value in (number, 1 / number)
    )


@lru_cache(maxsize=16)
def _parse(text: str) -> Sequence[ast.AST] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            return _walk(ast.parse(text))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return None


def _walk(tree: ast.AST) -> list[ast.AST]:
    """All nodes as from `ast.walk`, without load and store contexts, in a third of the time."""
    nodes = [tree]
    for node in nodes:
        for value in node.__dict__.values():
            if isinstance(value, list):
                nodes += [part for part in value if isinstance(part, ast.AST)]  # pyright: ignore[reportUnknownVariableType]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                nodes.append(value)
    return nodes
