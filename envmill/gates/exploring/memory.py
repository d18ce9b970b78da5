"""Caches for gates that follow each other on one subject."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from envmill.sandbox import Program
from schemas.environment import Environment

T = TypeVar("T")

HELD = 24
"""Number of subjects cached in this process: the environments of a bucket are worked on
together."""


class RecentCache(Generic[T]):
    """A cache that drops the entry that was not used for the longest time."""

    def __init__(self, most: int = HELD) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, T] = OrderedDict()

    def find(self, key: Hashable) -> T | None:
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def keep(self, key: Hashable, value: T) -> T:
        self._held[key] = value
        while len(self._held) > self._most:
            self._held.popitem(last=False)
        return value


_programs: RecentCache[Program] = RecentCache()


def find_program(environment: Environment) -> Program:
    """The program for all gates of an environment, so that it is serialised once."""
    return _programs.find(environment.id) or _programs.keep(environment.id, Program.of(environment))
