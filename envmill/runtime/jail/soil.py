"""Whether a program left something behind in the interpreter: patched modules, classes, settings of ours or of the library.

It finds accidents. A program that means harm can lie about itself, and nobody but its own next session would hear the lie.
"""

import builtins
import ctypes
import datetime
import decimal
import gc
import json
import math
import random
import re
import sys
import time
import uuid
from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any

from envmill.runtime import canonical, program, reply, session, virtual, world

_FREE = frozenset(("_last_timestamp", "__warningregistry__"))
"""Names the library itself rebinds while it works."""
_pristine: list[tuple[str, Mapping[str, Any], dict[str, Any], list[Any]]] = []
"""Name, what it holds, what it held, and that again as a list: to compare two lists of the same objects takes the least time."""
_limits: list[object] = []
_VERSION = 24
"""Where CPython keeps a dictionary's version, up to 3.13: another number after each change to it (PEP 509)."""
_windows: list[ctypes.c_uint64] = []
"""The version of each, as it is now; none where dictionaries have no versions."""
_versions: list[int] = []
"""What they were when all was last seen to be as it should: to look at every object takes longer than the rest of a reset."""
_read_version = attrgetter("value")


def remember() -> None:
    """Note how things are, once, before any program is compiled."""
    watched: list[Any] = [builtins, datetime, decimal, json, math, random, re, time, uuid, json.JSONEncoder, random.Random]
    for module in (canonical, program, reply, session, virtual, world):
        watched += [module, *(space for space in _contents(module).values() if _is_ours(space, module))]
    _pristine[:] = [(_name(space), _contents(space), dict(_contents(space)), list(_contents(space).values())) for space in watched]
    _limits[:] = _read_limits()
    _windows[:] = [_open_window(now) for _, now, _, _ in _pristine] if _have_versions() else []
    _versions[:] = map(_read_version, _windows)


def find_changed() -> str:
    """What differs from the pristine interpreter; empty when nothing does."""
    versions = list(map(_read_version, _windows))
    if not versions or versions != _versions:
        for name, now, before, values in _pristine:
            if list(now.values()) != values and _differs(now, before):
                return name
        _versions[:] = versions
    return "" if _read_limits() == _limits else "the interpreter's limits"


def _have_versions() -> bool:
    """Whether dictionaries of this interpreter have a version where it is looked for: tried out on one."""
    if sys.implementation.name != "cpython":
        return False
    tried: dict[str, object] = {"a": None}
    window = _open_window(tried)
    seen = [window.value]
    replace, add = partial(tried.update, a=1), partial(tried.update, b=2)
    for change in (replace, add, partial(tried.setdefault, "c", 3), partial(tried.pop, "b"), tried.popitem, tried.clear):
        change()
        seen.append(window.value)
    tried.get("a")  # to look is no change
    return len(set(seen)) == len(seen) and window.value == seen[-1]


def _open_window(space: Mapping[str, Any]) -> ctypes.c_uint64:
    # What a class shows of its dictionary is a proxy. Eight bytes within any object that holds a dictionary.
    found: Any = space if isinstance(space, dict) else gc.get_referents(space)[0]
    return ctypes.c_uint64.from_address(id(found) + _VERSION)


def _differs(now: Mapping[str, Any], before: dict[str, Any]) -> bool:
    names: set[str] = {*now, *before}
    return any(now.get(name) is not before.get(name) for name in names - _FREE)


def _read_limits() -> list[object]:
    context = decimal.getcontext()
    return [sys.getrecursionlimit(), sys.get_int_max_str_digits(), context.prec, context.rounding]


def _name(space: Any) -> str:
    return str(getattr(space, "__qualname__", space.__name__))


def _is_ours(space: Any, module: ModuleType) -> bool:
    return isinstance(space, type) and space.__module__ == module.__name__


def _contents(space: Any) -> Mapping[str, Any]:
    contents: Mapping[str, Any] = space.__dict__
    return contents
