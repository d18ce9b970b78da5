"""Texts that run in the jail: the thin class around a released MCP server, and stand-ins for the
two packages that servers import.

The stand-ins do what servers of this format use: models with types, defaults and bounds that are
checked; tools that are remembered.
"""

from collections.abc import Sequence

NAMES = frozenset(("BaseModel", "Field", "ConfigDict", "ValidationError"))
"""What the stand-in for pydantic has; a server that uses more of it is refused."""

_AROUND = '''"""A released server behind the native interface: its scenario is the state, what it raises on purpose a rejection."""

import outside  # before the server, which imports what it stands for
import program as theirs
from envmill.runtime import Rejection
from fastmcp import FastMCP

TOOLS = $TOOLS


def plain(value):
    """A value as JSON; sets in order, so that equal states look equal."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def find_tools():
    """What the server offers, by name."""
    servers = [one for one in vars(theirs).values() if isinstance(one, FastMCP)]
    return {name: tool for server in servers for name, tool in server.offered.items()}


class World:
    def __init__(self, state):
        self._offered = find_tools()
        self._offered["load_scenario"](state)
        self._show()

    def _show(self):
        shown = plain(self._offered["save_scenario"]())
        for name in [name for name in vars(self) if not name.startswith("_") and name not in shown]:
            delattr(self, name)
        for name, value in shown.items():
            setattr(self, name, value)

    def _call(self, name, arguments):
        try:
            return plain(self._offered[name](**arguments))
        except ValueError as error:
            raise Rejection("refused", str(error) or "refused without a word") from None
        finally:
            self._show()


def make_tool(name):
    return lambda self, /, **arguments: self._call(name, arguments)


for tool in TOOLS:
    setattr(World, tool, make_tool(tool))
'''

_SERVER = '''"""A stand-in for the package: it remembers tools."""


class FastMCP:
    def __init__(self, *_, **__):
        self.offered = {}

    def tool(self, *given, name=None, **_):
        def keep(function):
            self.offered[name or function.__name__] = function
            return function

        return keep(given[0]) if given and callable(given[0]) else keep

    def run(self, *_, **__):
        raise RuntimeError("Nobody is served here.")
'''

_MODELS = '''"""A stand-in for the package: models whose fields have types, defaults and bounds."""

import re
import types
import typing

MISSING = ...


class ValidationError(ValueError):
    pass


class FieldInfo:
    def __init__(self, default, factory, bounds):
        self.default, self.factory, self.bounds = default, factory, bounds


def Field(default=MISSING, *, default_factory=None, **bounds):
    return FieldInfo(default, default_factory, bounds)


def ConfigDict(**given):
    return given


def fail(name, told):
    raise ValidationError(f"{name}: {told}")


def copy(value):
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    return [copy(item) for item in value] if isinstance(value, list) else value


def read_plain(kind, value, name):
    if kind is bool:
        return value if isinstance(value, bool) else bool(value) if value in (0, 1) else fail(name, "should be true or false")
    if kind is str:
        return value if isinstance(value, str) else fail(name, "should be a text")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        fail(name, "should be a number")
    try:
        number = float(value) if kind is float else int(value)
    except ValueError:
        fail(name, "should be a number")
    return number if kind is float or number == float(value) else fail(name, "should be a whole number")


def read(kind, value, name):
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any or kind is object:
        return value
    if kind in (str, int, float, bool):
        return read_plain(kind, value, name)
    if kind is None or kind is type(None):
        return None if value is None else fail(name, "should be nothing")
    if origin is typing.Literal:
        return value if value in inner else fail(name, f"should be one of {list(inner)}")
    if origin in (typing.Union, types.UnionType):
        return read_union(inner, value, name)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return value if isinstance(value, kind) else kind(**value) if isinstance(value, dict) else fail(name, "should be an object")
    outer = origin or kind
    if outer is dict:
        if not isinstance(value, dict):
            fail(name, "should be an object")
        return {read(inner[0], key, name): read(inner[1], item, f"{name}.{key}") for key, item in value.items()} if inner else dict(value)
    if outer in (list, set, tuple):
        if not isinstance(value, (list, set, tuple)):
            fail(name, "should be a list")
        return outer(read(inner[0], item, f"{name}.{place}") if inner else item for place, item in enumerate(value))
    raise TypeError(f"the stand-in for pydantic knows no {kind}")


def read_union(kinds, value, name):
    exact = [kind for kind in kinds if isinstance(kind, type) and type(value) is kind]
    told = ""
    for kind in exact or kinds:
        try:
            return read(kind, value, name)
        except ValidationError as error:
            told = told or str(error)
    raise ValidationError(told)


def check(bounds, value, name):
    if value is None:
        return
    for word, holds in (("ge", "__ge__"), ("gt", "__gt__"), ("le", "__le__"), ("lt", "__lt__")):
        if word in bounds and getattr(value, holds)(bounds[word]) is not True:
            fail(name, f"should be {word} {bounds[word]}")
    pattern = bounds.get("pattern") or bounds.get("regex")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        fail(name, f"should match {pattern}")
    if len(value) < bounds.get("min_length", 0) if hasattr(value, "__len__") else False:
        fail(name, "is too short")
    if hasattr(value, "__len__") and len(value) > bounds.get("max_length", len(value)):
        fail(name, "is too long")


class BaseModel:
    model_config = {}

    def __init__(self, **given):
        fields = {name: kind for name, kind in typing.get_type_hints(type(self)).items() if name != "model_config"}
        if self.model_config.get("extra") == "forbid" and (strange := sorted(set(given) - set(fields))):
            fail(strange[0], "is not known")
        for name, kind in fields.items():
            setattr(self, name, self._read(name, kind, given))

    def _read(self, name, kind, given):
        field = getattr(type(self), name, FieldInfo(MISSING, None, {}))
        field = field if isinstance(field, FieldInfo) else FieldInfo(field, None, {})
        if name not in given:
            if field.factory:
                return field.factory()
            return fail(name, "is missing") if field.default is MISSING else copy(field.default)
        value = read(kind, given[name], name)
        check(field.bounds, value, name)
        return value

    @classmethod
    def model_validate(cls, given):
        return given if isinstance(given, cls) else cls(**given)

    def model_dump(self, exclude_none=False, **_):
        shown = {name: dump(value) for name, value in vars(self).items()}
        return {name: value for name, value in shown.items() if value is not None} if exclude_none else shown

    def dict(self, **more):
        return self.model_dump(**more)

    def model_copy(self, update=None, **_):
        return type(self)(**(self.model_dump() | (update or {})))

    copy = model_copy

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)


def dump(value):
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: dump(item) for key, item in value.items()}
    return type(value)(map(dump, value)) if isinstance(value, (list, tuple, set)) else value
'''


def write_files(source: str, tools: Sequence[str]) -> dict[str, str]:
    """The server as it is, and all around it."""
    return {
        "program.py": source,
        "adapter.py": _AROUND.replace("$TOOLS", repr(list(tools))),
        "pydantic.py": _MODELS,
        "fastmcp.py": _SERVER,
        "mcp/__init__.py": "",
        "mcp/server/__init__.py": "",
        "mcp/server/fastmcp.py": "from fastmcp import FastMCP\n",
    }
