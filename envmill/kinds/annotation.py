"""A parameter's annotation as JSON Schema, in the subset the runtime validates."""

import ast
from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

_PLAIN: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "dict": {"type": "object"},
    "list": {"type": "array"},
}
_SUPPORTED = "str, int, float, bool, list[T], dict, dict[str, T], Literal[...] and T | None"


class Unsupported(ValueError):
    """An annotation the subset cannot say."""

    def __init__(self, node: ast.expr) -> None:
        super().__init__(f"the annotation `{ast.unparse(node)}` is not supported; use {_SUPPORTED}")


def read_annotation(node: ast.expr) -> Schema:
    """The schema an annotation stands for, or Unsupported."""
    match node:
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.Constant(value=str() as text):
            return read_annotation(ast.parse(text, mode="eval").body)
        case ast.Name(id=name) if name in _PLAIN:
            return dict(_PLAIN[name])
        case ast.BinOp(op=ast.BitOr()):
            return _read_union(node, [node.left, node.right])
        case ast.Subscript():
            return _read_subscript(node)
        case _:
            raise Unsupported(node)


def _read_subscript(node: ast.Subscript) -> Schema:
    match node.value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        case _:
            raise Unsupported(node)
    if name in ("list", "List") and len(inner) == 1:
        return {"type": "array", "items": _read_inner(inner[0])}
    if name in ("dict", "Dict"):
        return _read_mapping(node, inner)
    if name == "Literal":
        return _read_literal(node, inner)
    if name == "Optional":
        return _nullable(read_annotation(inner[0]))
    if name == "Union":
        return _read_union(node, inner)
    raise Unsupported(node)


def _read_mapping(node: ast.Subscript, inner: list[ast.expr]) -> Schema:
    match inner:
        case [ast.Name(id="str"), values]:
            schema = _read_inner(values)
            return (
                {"type": "object", "additionalProperties": schema} if schema else {"type": "object"}
            )
        case _:
            raise Unsupported(node)


def _read_inner(node: ast.expr) -> Schema:
    """What a list or mapping holds; here alone anything goes, when it says so."""
    match node:
        case ast.Name(id="Any" | "object") | ast.Attribute(attr="Any"):
            return {}
        case _:
            return read_annotation(node)


def _read_literal(node: ast.Subscript, options: list[ast.expr]) -> Schema:
    values = [option.value for option in options if isinstance(option, ast.Constant)]
    names = {"str": "string", "int": "integer", "bool": "boolean"}
    kinds = {type(value).__name__ for value in values if value is not None}
    if len(values) != len(options) or len(kinds) != 1 or not kinds <= set(names):
        raise Unsupported(node)
    schema: Schema = {
        "type": names[kinds.pop()],
        "enum": [value for value in values if value is not None],
    }
    return _nullable(schema) if None in values else schema


def _read_union(node: ast.expr, members: list[ast.expr]) -> Schema:
    schemas = [read_annotation(member) for member in members]
    rest = [schema for schema in schemas if schema != {"type": "null"}]
    if len(rest) == 1:
        return _nullable(rest[0])
    if any(set(schema) != {"type"} for schema in rest):
        raise Unsupported(node)
    # Members that are unions already bring lists; the order of writing is kept, doubles fall out.
    names = [
        name
        for schema in schemas
        for name in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
    ]
    return {"type": list(dict.fromkeys(names))}


def _nullable(schema: Schema) -> Schema:
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    schema = {**schema, "type": list(dict.fromkeys([*names, "null"]))}
    return {**schema, "enum": [*schema["enum"], None]} if "enum" in schema else schema


class _Aliases(ast.NodeTransformer):
    """Puts in place of a name what it stands for."""

    def __init__(self, meanings: Mapping[str, ast.expr]) -> None:
        self._meanings = meanings

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._meanings.get(node.id, node)


def list_aliases(module: ast.Module) -> dict[str, ast.expr]:
    """Name → what it stands for: `Part = Literal["seat", "frame"]` at the top level."""
    found: dict[str, ast.expr] = {}
    for node in module.body:
        match node:
            case (
                ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Subscript(value=ast.Name(id="Literal")) as value,
                )
                | ast.AnnAssign(
                    target=ast.Name(id=name),
                    value=ast.Subscript(value=ast.Name(id="Literal")) as value,
                )
            ):
                found[name] = value
            case _:
                pass
    return found


def replace_aliases(annotation: ast.expr, aliases: Mapping[str, ast.expr]) -> ast.expr:
    """With every alias replaced."""
    return _Aliases(aliases).visit(annotation) if aliases else annotation
