"""The structure of a task without its words: the calls of its solution with all names replaced,
their values, and their changes."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from schemas.base import Json, is_array, is_object

LEAST_CALLS = 3
"""Number of calls from which a structure counts: thousands of tasks share two calls in a row."""
_MOST = 3
"""Number of tasks up to which a value is rare. Users, places and currencies of a domain are in many
tasks, and show nothing."""
_SIDES = ("agent", "user")
"""First steps of paths in states with two sides."""


@dataclass(frozen=True)
class TaskStructure:
    """Contains no names: tools appear by the distance to their last call, values by one byte of a
    hash."""

    calls: tuple[str, ...] = ()
    """A token for each call: number of calls since the last one of the same tool (0 for a new
    tool), and the types of its arguments. An additional look-up changes no other token."""
    values: frozenset[int] = frozenset()
    """One byte of a hash for each value. One guess in fifty hits a task of five values by chance,
    so no guess can be confirmed."""
    rare: frozenset[int] = frozenset()
    """Bytes of the protected task's values that few tasks of its benchmark have. A sketch stores
    only these."""
    end: tuple[str, ...] = ()
    """A token for each change: number of the collection, operation, depth and type; empty if the
    end is unknown."""

    def match_calls(self, other: "TaskStructure") -> float:
        """Share of calls that both have in the same order; 0 if one has too few."""
        if min(len(self.calls), len(other.calls)) < LEAST_CALLS:
            return 0.0
        return SequenceMatcher(None, self.calls, other.calls, autojunk=False).ratio()

    def find_values(self, asked: "TaskStructure") -> float:
        """Share of this task's rare values that the other has."""
        return len(self.rare & asked.values) / len(self.rare) if self.rare else 0.0

    def match_end(self, other: "TaskStructure") -> float | None:
        """Share of common changes; None if one end is unknown."""
        if not self.end or not other.end:
            return None
        return SequenceMatcher(None, self.end, other.end, autojunk=False).ratio()


def describe_task(
    calls: Sequence[tuple[str, Mapping[str, Json]]],
    changes: Sequence[tuple[Sequence[str], str, Json]],
    salt: bytes,
) -> TaskStructure:
    """Takes `calls` as tool and arguments, and `changes` as path, operation and new value."""
    last: dict[str, int] = {}
    tokens: list[str] = []
    for place, (name, arguments) in enumerate(calls):
        tokens.append(f"{place - last.get(name, place)}:{_describe_arguments(arguments.values())}")
        last[name] = place
    return TaskStructure(
        tuple(tokens), hash_values(list_call_values(calls), salt), end=describe_end(changes)
    )


def list_call_values(calls: Sequence[tuple[str, Mapping[str, Json]]]) -> frozenset[str]:
    return frozenset(value for _, arguments in calls for value in list_values(arguments.values()))


def find_rare(values: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """For each task, its values that few tasks have. Tasks with equal values are variants, and
    count once."""
    counts = Counter(value for task in set(values) for value in task)
    return [frozenset(value for value in task if counts[value] <= _MOST) for task in values]


def hash_values(values: Iterable[str], salt: bytes) -> frozenset[int]:
    return frozenset(
        hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=1, key=salt).digest()[0]
        for one in values
    )


def _describe_arguments(values: Iterable[Json]) -> str:
    return "".join(sorted(name_type(value) for value in values))


def name_type(value: Json) -> str:
    """A letter for the type; for a list, also that of its first item."""
    if is_array(value):
        return f"l{name_type(value[0])}" if value else "l"
    if is_object(value):
        return "o"
    if value is None:
        return "z"
    return "b" if isinstance(value, bool) else "s" if isinstance(value, str) else "n"


def list_values(values: Iterable[Json]) -> Iterator[str]:
    """Texts and numbers anywhere in arguments. Truth values and single letters identify nothing."""
    for value in values:
        if is_array(value):
            yield from list_values(value)
        elif is_object(value):
            yield from list_values(value.values())
        elif (
            not isinstance(value, bool)
            and value is not None
            and len(text := str(value).strip().casefold()) > 1
        ):
            yield text


def describe_end(changes: Sequence[tuple[Sequence[str], str, Json]]) -> tuple[str, ...]:
    """A token for each change. Collections are numbered by their first change."""
    collections: dict[str, int] = {}
    tokens: list[str] = []
    for path, operation, after in changes:
        steps = list(path)[1:] if path and path[0] in _SIDES else list(path)
        number = collections.setdefault(str(steps[0]) if steps else "", len(collections))
        tokens.append(f"{number}:{operation}:{len(steps)}:{name_type(after)}")
    return tuple(sorted(tokens))
