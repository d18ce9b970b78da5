"""Tracing: calls that somebody wrote told as a chain. Of each argument, which earlier reply it
stands in; else the user has to say it.

calls ─► each value looked for in the replies before it ─┬─ alone there:  taken from it
                                                         ├─ in a list:    chosen first
                                                         ├─ a list of those: taken whole
                                                         └─ nowhere:      from the user; the validator knows what no user says

An argument that holds objects is told part by part: `lines[].product_id`.
"""

from collections.abc import Iterator, Mapping, Sequence

from envmill.recipes.drafting.rechecking import mentions
from envmill.toolgraph.words import is_ending
from schemas.base import Json, is_array, is_object
from schemas.chain import Chain, ChainStep, FromNode, FromUser, Node, Reason, Source
from schemas.environment import Call


def trace(
    calls: Sequence[Call],
    replies: Sequence[Json],
    keys: Mapping[str, str],
    words: str,
    sampler: str,
) -> Chain:
    """`keys`: those of tables. What is no key and is said is the user's."""
    tracer = _Tracer(keys, words)
    for call, reply in zip(calls, replies, strict=True):
        tracer.add(call, reply)
    return Chain(sampler=sampler, nodes=tracer.nodes)


class _Tracer:
    """Nodes so far, and what was replied."""

    def __init__(self, keys: Mapping[str, str], words: str) -> None:
        self._keys, self._words = keys, words
        self.nodes: list[Node] = []
        self._seen: list[tuple[ChainStep, list[tuple[str, Json]]]] = []
        """Step, and path and value of each leaf of its reply."""
        self._chosen: dict[tuple[str, str, str], FromNode] = {}

    def add(self, call: Call, reply: Json) -> None:
        id = f"s{len(self._seen) + 1}"
        step = ChainStep(
            id=id,
            tool=call.name,
            arguments={
                path: self._find(value, call.name)
                for path, value in _list_arguments(call.arguments, "")
            },
        )
        self.nodes.append(step)
        self._seen.append((step, list(_list_leaves(reply, ""))))

    def _find(self, value: Json, tool: str) -> Source:
        """The latest place of all; rather one that gives it alone, of another tool, and of none
        that ends what it speaks of."""
        if is_array(value):
            return self._find(value[0], tool) if len(value) == 1 else self._find_all(value)
        is_key = isinstance(value, str) and value in self._keys
        if not is_key and (mentions(self._words, value) or isinstance(value, bool)):
            return FromUser()
        found = [
            (step, path)
            for step, leaves in reversed(self._seen)
            for path, held in leaves
            if held == value and path
        ]
        if not found:
            return FromUser()
        step, path = min(
            found, key=lambda one: (one[0].tool == tool or is_ending(one[0].tool), "[]" in one[1])
        )
        return (
            self._choose(step.id, path, value)
            if "[]" in path
            else FromNode(node=step.id, path=path)
        )

    def _find_all(self, values: list[Json]) -> Source:
        """The latest list that holds all of them."""
        if all(
            not (isinstance(one, str) and one in self._keys) and mentions(self._words, one)
            for one in values
        ):
            return FromUser()
        for step, leaves in reversed(self._seen):
            for path in dict.fromkeys(path for path, _ in leaves if "[]" in path):
                held = [value for place, value in leaves if place == path]
                if all(one in held for one in values):
                    return FromNode(node=step.id, path=path)
        return FromUser()

    def _choose(self, step: str, path: str, value: Json) -> FromNode:
        place = (step, path, str(value))
        if place not in self._chosen:
            reason = Reason(
                id=f"r{len(self._chosen) + 1}",
                rule="choose",
                takes=[FromNode(node=step, path=path)],
            )
            self.nodes.append(reason)
            self._chosen[place] = FromNode(node=reason.id)
        return self._chosen[place]


def _list_arguments(value: Mapping[str, Json], path: str) -> Iterator[tuple[str, Json]]:
    """Path and value of each argument; of a list of objects, the values of each part."""
    for name, held in value.items():
        place = f"{path}.{name}" if path else name
        if is_object(held) and held:
            yield from _list_arguments(held, place)
        elif is_array(held) and held and all(is_object(one) for one in held):
            parts = list(dict.fromkeys(part for one in held for part in one))
            columns = {part: [one[part] for one in held if part in one] for part in parts}
            yield from _list_arguments(columns, f"{place}[]")
        else:
            yield place, held


def _list_leaves(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if is_object(value):
        for name, held in value.items():
            yield from _list_leaves(held, f"{path}.{name}" if path else name)
    elif is_array(value):
        for held in value:
            yield from _list_leaves(held, f"{path}[]")
    else:
        yield path, value
