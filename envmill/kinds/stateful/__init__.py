"""The `stateful` kind: JSON state behind a Python class whose public methods are the tools.

source ──ast.parse──► class ──► public methods ──► name, docstring, annotations ──► Tool
"""

import ast
import warnings
from collections.abc import Iterable, Mapping

from envmill.base.errors import BuildError
from envmill.kinds.annotation import Schema, list_aliases, read_annotation, replace_aliases
from envmill.kinds.base import is_forbidden
from envmill.kinds.docstring import described_parameters, read_description
from envmill.runtime.actors import DEFAULT
from envmill.runtime.schema import check_schema, find_fault
from schemas.database import Policy, Table
from schemas.environment import Effect, Tool

MAX_SOURCE = 256 * 1024
"""Characters of a program; the parser runs in our own process."""


def derive_tools(source: str, class_name: str, effects: Mapping[str, Effect]) -> list[Tool]:
    """The interface of a class, in source order. `effects` says what each tool was planned to do:
    all of them, no other."""
    module = _parse(source)
    methods = _public_methods(_find_class(module, class_name))
    _replace_aliases(module, methods.values())
    for name in effects:
        if name not in methods:
            raise BuildError(
                f"Class {class_name} lacks the planned tool {name!r}: add a public method of "
                "that name.",
                tool=name,
            )
    try:
        return [_derive_tool(method, effects) for method in methods.values()]
    except RecursionError:
        raise BuildError("An annotation is nested too deeply: write it more plainly.") from None


def derive_tables(files: Mapping[str, str], policies: Mapping[str, Policy | float]) -> list[Table]:  # noqa: ARG001
    """None: state is JSON."""
    if policies:
        raise BuildError(
            "Columns have policies where state is tables: make the kind sql, or take `policies` "
            "out."
        )
    return []


def _parse(source: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise BuildError(
            f"The program has {len(source)} characters, more than the {MAX_SOURCE} allowed: make "
            "it shorter."
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except SyntaxError as error:
        raise BuildError(
            f"Line {error.lineno} is no Python: {error.msg}: {(error.text or '').strip()[:200]}"
        ) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise BuildError(
            f"The program cannot be parsed ({type(error).__name__}: {error}): write it more "
            "plainly."
        ) from None


def _find_class(module: ast.Module, class_name: str) -> ast.ClassDef:
    found = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == class_name
    ]
    if len(found) != 1:
        raise BuildError(
            f"The module must define one class {class_name!r} at its top level; it defines "
            f"{len(found)}."
        )
    return found[0]


def _public_methods(owner: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    methods: dict[str, ast.FunctionDef] = {}
    for node in owner.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith(
            "_"
        ):
            continue
        if isinstance(node, ast.AsyncFunctionDef):
            raise _fault(node, "is async; tools are plain methods")
        marks = [_is_actors(mark) for mark in node.decorator_list if not _is_discoverable(mark)]
        if not all(marks) or len(marks) > 1:
            raise _fault(
                node,
                "is decorated; tools bear no decorator but @actors(...) and @discoverable, "
                "helpers begin with an underscore",
            )
        if node.name in methods:
            raise _fault(node, "is defined twice")
        methods[node.name] = node
    _check_course(owner)
    return methods


def _check_course(owner: ast.ClassDef) -> None:
    """What happens by itself takes two methods: one alone is half a thought."""
    course = [
        node
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name in ("_next_due", "_fall_due")
    ]
    for method in course:
        if len(course) != 2:
            raise _fault(
                method,
                "stands alone; a program that changes with time has both `_next_due` and "
                "`_fall_due`",
            )
        if len(method.args.args) != 1 or method.args.kwonlyargs:
            raise _fault(method, "takes parameters; the runtime calls it with none")


def _is_actors(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="actors") | ast.Attribute(attr="actors")):
            return True
        case _:
            return False


def _is_discoverable(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="discoverable") | ast.Attribute(attr="discoverable"):
            return True
        case _:
            return False


def _derive_tool(method: ast.FunctionDef, effects: Mapping[str, Effect]) -> Tool:
    name = method.name
    if is_forbidden(name):
        raise _fault(method, "bears a name that consumers use themselves; choose another")
    if name not in effects:
        raise _fault(method, "was not planned; begin its name with an underscore if it is a helper")
    docstring = ast.get_docstring(method) or ""
    description = read_description(docstring)
    if not description:
        raise _fault(method, "has no docstring; it is what the agent reads")
    actors = _read_actors(method)
    return Tool(
        name=name,
        description=description,
        parameters=_parameters(method, docstring),
        effect=effects[name],
        actors=actors,
        discoverable=any(map(_is_discoverable, method.decorator_list)),
    )


def _replace_aliases(module: ast.Module, methods: Iterable[ast.FunctionDef]) -> None:
    aliases = list_aliases(module)
    for parameter in (
        one for method in methods for one in (*method.args.args, *method.args.kwonlyargs)
    ):
        if parameter.annotation is not None:
            parameter.annotation = replace_aliases(parameter.annotation, aliases)


def _read_actors(method: ast.FunctionDef) -> list[str]:
    match [mark for mark in method.decorator_list if not _is_discoverable(mark)]:
        case []:
            return list(DEFAULT)
        case [ast.Call(args=[_, *_] as names, keywords=[])]:
            found = [
                name.value
                for name in names
                if isinstance(name, ast.Constant) and isinstance(name.value, str)
            ]
            if len(found) == len(names) == len(set(found)) and all(found):
                return found
        case _:
            pass
    raise _fault(
        method,
        'names its actors in another way than `@actors("agent", "user")`: plain texts, each once',
    )


def _parameters(method: ast.FunctionDef, docstring: str) -> Schema:
    arguments = method.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
        raise _fault(method, "takes positional-only or starred parameters; name each one")
    if not arguments.args or arguments.args[0].arg != "self":
        raise _fault(method, "does not take self first")
    named = arguments.args[1:]
    # A parameter's default, or None where there is none.
    defaults = [None] * (len(named) - len(arguments.defaults)) + list(arguments.defaults)
    described = described_parameters(docstring)
    properties: Schema = {}
    required: list[str] = []
    for parameter, default in [
        *zip(named, defaults, strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        properties[parameter.arg] = _property(method, parameter, default, described)
        if default is None:
            required.append(parameter.arg)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _property(
    tool: ast.FunctionDef,
    parameter: ast.arg,
    default: ast.expr | None,
    described: Mapping[str, str],
) -> Schema:
    name = parameter.arg
    if name.startswith("_"):
        raise _fault(
            tool, f"has parameter {name!r}; a parameter's name begins with a letter", parameter
        )
    if parameter.annotation is None:
        raise _fault(tool, f"has parameter {name!r} without a type annotation", parameter)
    if not described.get(name):
        raise _fault(
            tool,
            f"does not describe its parameter {name!r}: add `{name}: …` to the docstring's "
            "`Args:` section",
            parameter,
        )
    try:
        schema = read_annotation(parameter.annotation)
        check_schema(schema)
    except (ValueError, SyntaxError) as error:
        raise _fault(tool, f"has parameter {name!r}: {error}", parameter) from None
    if default is not None:
        _add_default(tool, parameter, schema, default)
    schema["description"] = described[name]
    return schema


def _add_default(
    tool: ast.FunctionDef, parameter: ast.arg, schema: Schema, default: ast.expr
) -> None:
    try:
        value = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return  # a name: Python knows its value, and the parameter is optional all the same
    if isinstance(value, list | dict | set):
        raise _fault(
            tool,
            f"has parameter {parameter.arg!r} with a default that calls would share; use None "
            "and make it inside",
            parameter,
        )
    if fault := find_fault(schema, value, f"the default of parameter {parameter.arg!r}"):
        raise _fault(tool, f"contradicts itself: {fault}", parameter)
    if value is not None:
        schema["default"] = value


def _fault(
    tool: ast.FunctionDef | ast.AsyncFunctionDef, what: str, at: ast.arg | None = None
) -> BuildError:
    line = (at or tool).lineno
    return BuildError(f"Line {line}: tool {tool.name!r} {what}.", tool=tool.name, line=line)
