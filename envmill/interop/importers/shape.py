"""What a released program says of its own state: containers, row types, hidden attributes. Read
from the syntax tree, never run.

The release's texts about state are damaged (their parser ate letters), so the code is what counts.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from schemas.base import Json


@dataclass(frozen=True)
class ClassShape:
    """The class, taken apart."""

    methods: dict[str, ast.FunctionDef]
    """By name, private ones included."""
    containers: dict[str, ast.expr | None]
    """Public attributes that the constructor sets → annotation."""
    kept: frozenset[str]
    """Attributes that are nothing but the constructor's argument."""
    rows: dict[str, dict[str, ast.expr]]
    """Row type, in lower case → field → annotation."""
    words: dict[str, list[str]]
    """Field of a row → words that the code compares it with."""

    @property
    def takes_state(self) -> bool:
        """Whether the constructor has an argument."""
        return "__init__" in self.methods and len(self.methods["__init__"].args.args) > 1

    @property
    def tools(self) -> list[str]:
        return [name for name in self.methods if not name.startswith("_")]

    @property
    def hidden(self) -> list[str]:
        """Private attributes set anywhere: state that nobody sees and no reset brings back."""
        found = {
            node.attr
            for method in self.methods.values()
            for node in ast.walk(method)
            if _is_own_store(node)
        }
        return sorted(name for name in found if name.startswith("_"))


def read_shape(source: str, class_name: str) -> ClassShape | str:
    """The shape, or why there is none."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its code cannot be parsed ({type(error).__name__}: {error})"
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if class_name not in classes:
        return f"its code defines no class {class_name}"
    methods = {
        node.name: node for node in classes[class_name].body if isinstance(node, ast.FunctionDef)
    }
    rows = {
        name.lower(): dict(_list_fields(node))
        for name, node in classes.items()
        if name != class_name
    }
    stores = list(_list_stores(methods["__init__"])) if "__init__" in methods else []
    made = {name: kind for name, kind, argument in stores if not (name.startswith("_") or argument)}
    words: dict[str, list[str]] = {}
    for field, word in _list_words(module):
        words.setdefault(field, []).append(word)
    kept = frozenset(name for name, _, argument in stores if argument)
    return ClassShape(
        methods,
        made,
        kept,
        rows,
        {field: list(dict.fromkeys(found)) for field, found in words.items()},
    )


def make_state(shape: ClassShape, declared: Mapping[str, Json]) -> dict[str, Json]:
    """A state nobody ever had: three rows in each typed container that the constructor leaves
    empty, with every field of their type.

    Ids point at one another, and a field that the code compares with words has those words.
    """
    kinds = {
        name: kind
        for name, kind in shape.containers.items()
        if kind is not None and declared.get(name) in ({}, [])
    }
    filled = {
        name: _fill(kind, name, 0, shape)
        for name, kind in kinds.items()
        if not is_tuple_keyed(kind)
    }
    return {**declared, **filled}


def is_tuple_keyed(kind: ast.expr) -> bool:
    """Whether a mapping's keys are tuples, which JSON has not."""
    return "[tuple" in ast.unparse(kind).lower()


def _fill(kind: ast.expr, name: str, number: int, shape: ClassShape, depth: int = 0) -> Json:
    head, inner = _split(kind)
    if depth > 6:
        return None
    if head == "dict":
        rows = (
            {f"k{each + 1}": _fill(inner[1], name, each, shape, depth + 1) for each in range(3)}
            if len(inner) == 2
            else {}
        )
        return {} if any(row is None for row in rows.values()) else rows
    if head == "list":
        return [_fill(inner[0], name, number, shape, depth + 1)] if inner else []
    if head == "optional":
        return _fill(inner[0], name, number, shape, depth + 1)
    if head in shape.rows:
        return {
            field: _fill(each, field, number, shape, depth + 1)
            for field, each in shape.rows[head].items()
        }
    return _fill_plain(head, name, number, shape)


def _fill_plain(head: str, name: str, number: int, shape: ClassShape) -> Json:
    if name.endswith("id"):
        return f"k{number + 1}"
    if "date" in name or "time" in name:
        return (
            1772442000.0 + number * 86400
            if head in ("float", "int")
            else f"2026-03-0{number + 2}T09:00:00"
        )
    if head == "str":
        words = shape.words.get(name) or [f"{name} {number + 1}"]
        return words[number % len(words)]
    return {"int": 2 + number, "float": 2.5 + number, "bool": number != 1}.get(head)


def _list_words(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Field and word, wherever the code compares the one with the other."""
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            fields = [field for side in sides if (field := _read_field(side))]
            words = [
                one.value
                for side in sides
                for one in ast.walk(side)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            yield from (
                (field, word) for field in fields for word in words if word and word not in fields
            )


def _read_field(node: ast.expr) -> str:
    """`row["status"]` and `row.get("status")`."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case _:
            return ""


def _split(kind: ast.expr) -> tuple[str, list[ast.expr]]:
    """`Dict[str, Row]` as `dict` and what stands in the brackets."""
    if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
        kind = ast.parse(kind.value, mode="eval").body
    if not isinstance(kind, ast.Subscript):
        return ast.unparse(kind).lower(), []
    return ast.unparse(kind.value).lower(), kind.slice.elts if isinstance(
        kind.slice, ast.Tuple
    ) else [kind.slice]


def _list_fields(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation


def _list_stores(method: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Attributes of self with their annotation, and whether they are only the constructor's
    argument, kept as it is."""
    arguments = {one.arg for one in method.args.args}
    for node in ast.walk(method):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        kept = isinstance(value, ast.Name) and value.id in arguments
        for target in filter(_is_own_store, targets):
            yield target.attr, node.annotation if isinstance(node, ast.AnnAssign) else None, kept


def _is_own_store(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
