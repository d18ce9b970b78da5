"""Whether a program left something behind in the interpreter: in modules it imports, in classes or
settings of ours or of the library.

It finds accidents. A program that means harm can lie about itself, and nobody but its own next
session would hear the lie.
"""

import builtins
import decimal
import sys
from abc import get_cache_token
from collections.abc import Collection, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, cast

from envmill.runtime import canonical, program, reply, session, virtual, world

Space: TypeAlias = Mapping[Any, Any] | list[Any] | set[Any]
"""A dictionary of a module, of a class or of an object, or a container of a module."""

_FREE = frozenset(
    (
        "_last_timestamp",
        "__warningregistry__",
        "__builtins__",
        "_inst",
        "_cache",
        "_cache2",
        "_value2member_map_",
    )
)
"""Names the library itself rebinds or fills while it works."""
_IMMUTABLE = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE: such a class takes no attribute."""
_GONE = object()
_US = "envmill.runtime"
"""Of our own modules those are watched that programs meet."""
_PLAIN = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)
"""Their own dictionaries are not looked at, or elsewhere."""
_OURS = (canonical, program, reply, session, virtual, world)
Watched: TypeAlias = dict[int, tuple[str, Space, Space]]
"""By the id of what is watched: its name, where its content is, and a shallow copy of that."""
_watched: Watched = {}
_modules: dict[str, Watched] = {}
"""What can be watched, by module: noted in the zygote, so that a template need not."""
_limits: list[object] = []


def remember(names: Collection[str] = ()) -> None:
    """Note how things are, once, before any program is compiled. `names` are the modules that may
    be watched."""
    _watched.clear()
    _note_all(_watched, builtins)
    for module in _OURS:
        _note(_watched, module, _name(module), vars(module))
        for space in vars(module).values():
            if isinstance(space, type) and space.__module__ == module.__name__:
                _note(_watched, space, _name(space), vars(space))
    _modules.clear()
    for name in names:
        if module := sys.modules.get(name):
            _note_all(_modules.setdefault(name, {}), module)
    _limits[:] = _read_limits()


def watch(names: Collection[str]) -> None:
    """From here on look at the modules that a program imports."""
    for name in sorted(names):
        _watched.update(_modules.get(name, {}))


def find_changed() -> str:
    """What differs from the pristine interpreter; empty when nothing does."""
    for name, space, before in _watched.values():
        # Compared by value, which is quickest: only an object that lies about itself is missed.
        if space != before and _differs(space, before):
            return name
    return "" if _read_limits() == _limits else "the interpreter's limits"


def _note_all(noted: Watched, owner: ModuleType | type) -> None:
    """Its dictionary and its containers; of a module its classes, objects and submodules, too."""
    if id(owner) in noted:
        return
    name = _name(owner)
    _note(noted, owner, name, vars(owner))
    contents: dict[str, Any] = dict(vars(owner))
    for key, value in contents.items():
        if key in _FREE:
            continue
        if isinstance(value, dict | list | set):
            _note(noted, cast(object, value), f"{name}.{key}", cast(Space, value))
        elif isinstance(owner, ModuleType) and _is_part(value, owner):
            _note_all(noted, value)
        elif (
            isinstance(owner, ModuleType)
            and not isinstance(value, _PLAIN)
            and hasattr(value, "__dict__")
        ):
            _note(noted, value, f"{name}.{key}", cast(Space, vars(value)))


def _is_part(value: Any, module: ModuleType) -> bool:
    """A class, unless nobody can change it, or a submodule."""
    if isinstance(value, type):
        return not value.__flags__ & _IMMUTABLE
    return (
        isinstance(value, ModuleType)
        and value.__name__.startswith(f"{module.__name__}.")
        and module.__name__ != _US
    )


def _note(noted: Watched, owner: object, name: str, space: Space) -> None:
    noted[id(owner)] = name, space, dict(space) if isinstance(space, Mapping) else space.copy()


def _differs(space: Space, before: Space) -> bool:
    """Some names are free."""
    if not isinstance(space, Mapping) or not isinstance(before, Mapping):
        return True
    return any(
        space.get(name, _GONE) is not before.get(name, _GONE) for name in {*space, *before} - _FREE
    )


def _read_limits() -> list[object]:
    context = decimal.getcontext()
    contexts = map(repr, (decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext))
    return [
        sys.getrecursionlimit(),
        sys.get_int_max_str_digits(),
        context.prec,
        context.rounding,
        get_cache_token(),
        *contexts,
    ]


def _name(space: Any) -> str:
    return str(getattr(space, "__qualname__", space.__name__))
