"""What a released program says of its own state: containers, row types, hidden attributes. Read from the syntax tree, never run.

The release's texts about state are damaged (their parser ate letters), so the code is what counts.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from schemas.base import Json

_KEYS = ("k1", "k2", "k3")
_PLAIN: Mapping[str, Json] = {"str": "active", "int": 2, "float": 2.5, "bool": True}


@dataclass(frozen=True)
class Shape:
    """The class, taken apart."""

    methods: dict[str, ast.FunctionDef]
    """By name, private ones included."""
    containers: dict[str, ast.expr | None]
    """Public attributes that the constructor sets → annotation."""
    kept: frozenset[str]
    """Attributes that are nothing but the constructor's argument."""
    rows: dict[str, dict[str, ast.expr]]
    """Row type, spelled small → field → annotation."""

    @property
    def tools(self) -> list[str]:
        return [name for name in self.methods if not name.startswith("_")]

    @property
    def hidden(self) -> list[str]:
        """Private attributes set anywhere: state that nobody sees and no reset brings back."""
        found = {node.attr for method in self.methods.values() for node in ast.walk(method) if _is_own_store(node)}
        return sorted(name for name in found if name.startswith("_"))


def read_shape(source: str, class_name: str) -> Shape | str:
    """The shape, or why there is none."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its code cannot be parsed ({type(error).__name__}: {error})"
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if class_name not in classes:
        return f"its code defines no class {class_name}"
    methods = {node.name: node for node in classes[class_name].body if isinstance(node, ast.FunctionDef)}
    rows = {name.lower(): dict(_list_fields(node)) for name, node in classes.items() if name != class_name}
    stores = list(_list_stores(methods["__init__"])) if "__init__" in methods else []
    made = {name: kind for name, kind, argument in stores if not (name.startswith("_") or argument)}
    return Shape(methods, made, frozenset(name for name, _, argument in stores if argument), rows)


def make_state(shape: Shape) -> dict[str, Json]:
    """A state nobody ever had: three rows in every typed container, with every field of their type, ids that point at one another."""
    return {
        name: _fill(kind, name, _KEYS[0], shape, 0)
        for name, kind in shape.containers.items()
        if kind is not None and ast.unparse(kind).lower().startswith(("dict[str", "list["))
    }


def _fill(kind: ast.expr, name: str, key: str, shape: Shape, depth: int) -> Json:
    head, inner = _split(kind)
    if depth > 6:
        return None
    if head == "dict":
        return {each: _fill(inner[1], name, each, shape, depth + 1) for each in _KEYS} if len(inner) == 2 else {}
    if head == "list":
        return [_fill(inner[0], name, key, shape, depth + 1)] if inner else []
    if head == "optional":
        return _fill(inner[0], name, key, shape, depth + 1)
    if head in shape.rows:
        return {field: _fill(each, field, key, shape, depth + 1) for field, each in shape.rows[head].items()}
    return _fill_plain(head, name, key)


def _fill_plain(head: str, name: str, key: str) -> Json:
    if name.endswith("id"):
        return key
    if "date" in name or "time" in name:
        return 1772442000.0 if head in ("float", "int") else "2026-03-02T09:00:00"
    return _PLAIN.get(head)


def _split(kind: ast.expr) -> tuple[str, list[ast.expr]]:
    """`Dict[str, Row]` as `dict` and what stands in the brackets."""
    if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
        kind = ast.parse(kind.value, mode="eval").body
    if not isinstance(kind, ast.Subscript):
        return ast.unparse(kind).lower(), []
    return ast.unparse(kind.value).lower(), kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]


def _list_fields(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation


def _list_stores(method: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Attributes of self with their annotation, and whether they are only the constructor's argument, kept as it is."""
    arguments = {one.arg for one in method.args.args}
    for node in ast.walk(method):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        kept = isinstance(value, ast.Name) and value.id in arguments
        for target in filter(_is_own_store, targets):
            yield target.attr, node.annotation if isinstance(node, ast.AnnAssign) else None, kept


def _is_own_store(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )
