"""The `stateful` kind: JSON state behind a Python class whose public methods are the tools.

source ──ast.parse──► class ──► public methods ──► name, docstring, annotations ──► Tool
"""

import ast
import warnings
from collections.abc import Mapping

from envmill.errors import BuildError
from envmill.kinds.annotation import Schema, Unsupported, read_annotation
from envmill.kinds.base import is_forbidden
from envmill.kinds.docstring import described_parameters, first_paragraph
from schemas.environment import Effect, Tool

MAX_SOURCE = 256 * 1024
"""Characters of a program; the parser runs in our own process."""


def derive_tools(source: str, class_name: str, effects: Mapping[str, Effect]) -> list[Tool]:
    """The interface of a class, in source order. `effects` says what each tool was planned to do: all of them, no other."""
    methods = _public_methods(_find_class(_parse(source), class_name))
    for name in effects:
        if name not in methods:
            raise BuildError(f"Class {class_name} lacks the planned tool {name!r}: add a public method of that name.", tool=name)
    try:
        return [_derive_tool(method, effects) for method in methods.values()]
    except RecursionError:
        raise BuildError("An annotation is nested too deeply: write it more plainly.") from None


def _parse(source: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise BuildError(f"The program has {len(source)} characters, more than the {MAX_SOURCE} allowed: make it shorter.")
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except SyntaxError as error:
        raise BuildError(f"Line {error.lineno} is no Python: {error.msg}: {(error.text or '').strip()[:200]}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise BuildError(f"The program cannot be parsed ({type(error).__name__}: {error}): write it more plainly.") from None


def _find_class(module: ast.Module, class_name: str) -> ast.ClassDef:
    found = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    if len(found) != 1:
        raise BuildError(f"The module must define one class {class_name!r} at its top level; it defines {len(found)}.")
    return found[0]


def _public_methods(owner: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    methods: dict[str, ast.FunctionDef] = {}
    for node in owner.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.AsyncFunctionDef):
            raise _fault(node.name, "is async; tools are plain methods")
        if node.decorator_list:
            raise _fault(node.name, "is decorated; tools are plain methods, helpers begin with an underscore")
        if node.name in methods:
            raise _fault(node.name, "is defined twice")
        methods[node.name] = node
    return methods


def _derive_tool(method: ast.FunctionDef, effects: Mapping[str, Effect]) -> Tool:
    name = method.name
    if is_forbidden(name):
        raise _fault(name, "bears a name that consumers use themselves; choose another")
    if name not in effects:
        raise _fault(name, "was not planned; begin its name with an underscore if it is a helper")
    docstring = ast.get_docstring(method) or ""
    description = first_paragraph(docstring)
    if not description:
        raise _fault(name, "has no docstring; its first paragraph is what the agent reads")
    return Tool(name=name, description=description, parameters=_parameters(method, docstring), effect=effects[name])


def _parameters(method: ast.FunctionDef, docstring: str) -> Schema:
    arguments = method.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
        raise _fault(method.name, "takes positional-only or starred parameters; name each one")
    if not arguments.args or arguments.args[0].arg != "self":
        raise _fault(method.name, "does not take self first")
    named = arguments.args[1:]
    # A parameter's default, or None where there is none.
    defaults = [None] * (len(named) - len(arguments.defaults)) + list(arguments.defaults)
    described = described_parameters(docstring)
    properties: Schema = {}
    required: list[str] = []
    for parameter, default in [*zip(named, defaults, strict=False), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
        properties[parameter.arg] = _property(method.name, parameter, default, described)
        if default is None:
            required.append(parameter.arg)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _property(tool: str, parameter: ast.arg, default: ast.expr | None, described: Mapping[str, str]) -> Schema:
    name = parameter.arg
    if parameter.annotation is None:
        raise _fault(tool, f"has parameter {name!r} without a type annotation")
    if not described.get(name):
        raise _fault(tool, f"does not describe its parameter {name!r}: add `{name}: …` to the docstring's `Args:` section")
    try:
        schema = read_annotation(parameter.annotation)
    except (Unsupported, SyntaxError) as error:
        raise _fault(tool, f"has parameter {name!r}: {error}") from None
    schema["description"] = described[name]
    if isinstance(default, ast.Constant) and isinstance(default.value, str | int | float | bool):
        schema["default"] = default.value
    return schema


def _fault(tool: str, what: str) -> BuildError:
    return BuildError(f"Tool {tool!r} {what}.", tool=tool)
