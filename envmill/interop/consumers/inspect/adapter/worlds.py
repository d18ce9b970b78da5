# pyright: basic, reportMissingImports=false
"""The sets of scenarios of a process, each opened once."""

import atexit
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TypeVar

from .sessions import JailError, ScenarioSet, open_set

T = TypeVar("T")
_OPENING = Lock()


@cache
def _open_once(folder: str) -> ScenarioSet:
    found = open_set(folder) if folder else open_set()
    atexit.register(found.close)
    return found


def find_set(folder: str) -> ScenarioSet:
    """The set in a folder; the one that lies in this package when none is named."""
    with _OPENING:
        return _open_once(folder)


def try_twice(folder: str, act: Callable[[ScenarioSet], T]) -> T:
    """What an act on a set gives. Where the jail is gone the set starts another, so the act is
    tried once more."""
    try:
        return act(find_set(folder))
    except JailError:
        return act(find_set(folder))
