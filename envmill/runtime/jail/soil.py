"""Whether a program left something behind in the interpreter: patched modules, classes, settings of ours or of the library.

It finds accidents. A program that means harm can lie about itself, and nobody but its own next session would hear the lie.
"""

import builtins
import datetime
import decimal
import json
import math
import random
import re
import sys
import time
import uuid
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from envmill.runtime import canonical, program, reply, session, virtual, world

_FREE = frozenset(("_last_timestamp", "__warningregistry__"))
"""Names the library itself rebinds while it works."""
_pristine: list[tuple[str, Mapping[str, Any], dict[str, Any], list[Any]]] = []
"""Name, what it holds, what it held, and that again as a list: to compare two lists of the same objects takes the least time."""
_limits: list[object] = []


def remember() -> None:
    """Note how things are, once, before any program is compiled."""
    watched: list[Any] = [builtins, datetime, decimal, json, math, random, re, time, uuid, json.JSONEncoder, random.Random]
    for module in (canonical, program, reply, session, virtual, world):
        watched += [module, *(space for space in _contents(module).values() if _is_ours(space, module))]
    _pristine[:] = [(_name(space), _contents(space), dict(_contents(space)), list(_contents(space).values())) for space in watched]
    _limits[:] = _read_limits()


def find_changed() -> str:
    """What differs from the pristine interpreter; empty when nothing does."""
    for name, now, before, values in _pristine:
        if list(now.values()) != values and _differs(now, before):
            return name
    return "" if _read_limits() == _limits else "the interpreter's limits"


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
