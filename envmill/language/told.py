"""The values in a tool's reply: the leaves of its JSON, and the words of its texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from envmill.language.words import find_words, normalise
from schemas.base import Json, canonical_json, is_array, is_object


@dataclass(frozen=True)
class ReplyValues:
    """The values of one reply. They are parsed once for all predicates."""

    parts: Sequence[Json]
    """Parts of the reply."""

    def holds(self, leaf: Json) -> bool:
        """Whether the reply contains a value, as a leaf of its JSON or as words of a text."""
        return _key(leaf) in self._known or any(
            find_words(text, render_leaf(leaf)) for text in self._texts
        )

    @cached_property
    def _leaves(self) -> list[Json]:
        return list(list_leaves([_content(part) for part in self.parts]))

    @cached_property
    def _known(self) -> set[tuple[str, Json]]:
        return {_key(leaf) for leaf in self._leaves}

    @cached_property
    def _texts(self) -> list[str]:
        return [normalise(leaf) for leaf in self._leaves if isinstance(leaf, str) and " " in leaf]


def list_leaves(value: Json) -> Iterator[Json]:
    """Leaves of a JSON value, and the keys of its objects, because replies often show rows under
    their keys."""
    if is_object(value):
        yield from value
        for inner in value.values():
            yield from list_leaves(inner)
    elif is_array(value):
        for inner in value:
            yield from list_leaves(inner)
    else:
        yield value


def render_leaf(value: Json) -> str:
    """A plain value as a text would show it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _content(part: Json) -> Json:
    if not is_object(part):
        return part
    return (
        part.get("text")
        if part.get("type") == "text"
        else part.get("value")
        if part.get("type") == "json"
        else None
    )


def _key(leaf: Json) -> tuple[str, Json]:
    # True is not 1, and 1 is 1.0.
    if isinstance(leaf, bool):
        return "bool", leaf
    if is_object(leaf) or is_array(leaf):
        return "json", canonical_json(leaf)
    return ("text", leaf.casefold()) if isinstance(leaf, str) else ("number", leaf)
