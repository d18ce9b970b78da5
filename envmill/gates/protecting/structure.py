"""The structure of a task without its words: the calls that solve it, with all names renamed, their
values, and what they change."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from schemas.base import Json, is_array, is_object

LEAST_CALLS = 3
"""Calls from which a structure says anything: two calls in a row are alike in thousands of
tasks."""
_MOST = 3
"""Tasks of a benchmark in which a value is rare. Users, places and currencies of its world stand in
many, and tell nothing."""
_SIDES = ("agent", "user")
"""First steps of paths in states of two sides."""


@dataclass(frozen=True)
class TaskStructure:
    """Holds no name: of a tool it says when it was called last, of a value one byte of a hash."""

    calls: tuple[str, ...] = ()
    """A token for each call: how many calls ago the same tool was called, 0 for a new one, and the
    types of its arguments. A look-up more
    or less changes no other token."""
    values: frozenset[int] = frozenset()
    """One byte of a hash for each value. One guess in fifty hits a task of five values by chance:
    none can be confirmed."""
    rare: frozenset[int] = frozenset()
    """Of a protected task: the bytes of those values that few tasks of its benchmark have. Only
    they are kept in a sketch."""
    end: tuple[str, ...] = ()
    """A token for each change: number of the collection, what happened, how deep, and the type;
    empty where the end is not known."""

    def match_calls(self, other: "TaskStructure") -> float:
        """Share of the calls that stand in both in the same order; 0 where one has too few."""
        if min(len(self.calls), len(other.calls)) < LEAST_CALLS:
            return 0.0
        return SequenceMatcher(None, self.calls, other.calls, autojunk=False).ratio()

    def find_values(self, asked: "TaskStructure") -> float:
        """Share of this task's rare values that another has."""
        return len(self.rare & asked.values) / len(self.rare) if self.rare else 0.0

    def match_end(self, other: "TaskStructure") -> float | None:
        """Share of changes in both; None where the end of one is not known."""
        if not self.end or not other.end:
            return None
        return SequenceMatcher(None, self.end, other.end, autojunk=False).ratio()


def describe_task(
    calls: Sequence[tuple[str, Mapping[str, Json]]],
    changes: Sequence[tuple[Sequence[str], str, Json]],
    salt: bytes,
) -> TaskStructure:
    """`calls` by tool and arguments, `changes` by path, operation and value after."""
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
    """Of each task's values, those that few tasks have. Tasks with the same values are variants of
    one, and count once."""
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
    """A letter; of a list, that of its first item too."""
    if is_array(value):
        return f"l{name_type(value[0])}" if value else "l"
    if is_object(value):
        return "o"
    if value is None:
        return "z"
    return "b" if isinstance(value, bool) else "s" if isinstance(value, str) else "n"


def list_values(values: Iterable[Json]) -> Iterator[str]:
    """Texts and numbers in arguments, wherever they stand. Truth values and single letters are
    nobody's."""
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
    """In the order of the collections' first change."""
    collections: dict[str, int] = {}
    tokens: list[str] = []
    for path, operation, after in changes:
        steps = list(path)[1:] if path and path[0] in _SIDES else list(path)
        number = collections.setdefault(str(steps[0]) if steps else "", len(collections))
        tokens.append(f"{number}:{operation}:{len(steps)}:{name_type(after)}")
    return tuple(sorted(tokens))
