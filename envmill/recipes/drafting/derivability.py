"""Derivability: in a graph that was carried out, each node is deleted in turn, and what rests on it
must not be derivable any more.

graph, calls, replies ─► a node deleted, with all that rests on it ─► request and replies that remain ─► does what it gave stand there?

A value stands in a reply where an agent can tell what it is: a key in the row of its own record,
which is alone or holds a text that the request says and no other row does; any other value in a row
that holds what the deleted node was asked with, such as a name.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.recipes.drafting.rechecking import mentions
from envmill.toolgraph.chain_player import Enacted, read_path
from envmill.toolgraph.references import list_references, list_sources, walk_nodes
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.chain import Chain, ChainStep, Filling, FromItem, FromNode, Loop, Node, Reason, Source

REQUEST = "the request"
_TELLING = 3
"""Characters of a text that is found inside another one."""


@dataclass(frozen=True)
class Shortcut:
    """A node that can be deleted: what one that rests on it takes from it stands elsewhere."""

    node: str
    taker: str
    value: Json
    found: str
    """Where: the request, or a step and the path into its reply."""

    @property
    def words(self) -> str:
        """For the author."""
        return (
            f"without node {self.node}, {self.taker} can still be derived: {self.value!r} stands "
            f"in {self.found}"
        )


def find_shortcuts(
    chain: Chain, filling: Filling, enacted: Enacted, words: str, keys: Mapping[str, str]
) -> list[Shortcut]:
    """Every node that can be deleted; none in a graph where each is needed. `words`: all that the
    user says; `keys`: those of tables."""
    return list(PlayedGraph(chain, filling, enacted, words, keys).find())


@dataclass(frozen=True)
class _Leaf:
    """A value of a reply."""

    path: str
    value: Json
    rows: tuple[int, ...]
    """Its place in each list around it."""


class PlayedGraph:
    """A chain as it was carried out: which value went from which node into which other one, and
    where else it stands."""

    def __init__(
        self, chain: Chain, filling: Filling, enacted: Enacted, words: str, keys: Mapping[str, str]
    ) -> None:
        self._words, self._keys, self._enacted = words, keys, enacted
        self._picks = {name: pick.equals for name, pick in filling.picks.items()}
        walked = list(walk_nodes(chain.nodes))
        self._nodes = {one.node.id: one.node for one in walked}
        self._waits = {one.node.id: {*list_references(one.node), *one.around} for one in walked}
        self._leaves = defaultdict[str, list[list[_Leaf]]](list)
        """Step → leaves of the reply to each of its calls."""
        self._calls = defaultdict[str, list[dict[str, Json]]](list)
        for step, call, reply in zip(enacted.steps, enacted.calls, enacted.replies, strict=True):
            self._leaves[step].append(list(_list_leaves(reply)))
            self._calls[step].append(call.arguments)

    def find(self) -> Iterator[Shortcut]:
        reported = set[str]()
        for name, node in self._nodes.items():
            if not isinstance(node, ChainStep | Reason) or (
                isinstance(node, Reason) and is_passing(node, self._enacted)
            ):
                continue
            if isinstance(node, Reason) and reported.intersection(list_references(node)):
                continue  # what makes the list superfluous makes the choice superfluous
            gone = self._list_resting(name)
            remain = [step for step in self._leaves if step not in gone]
            for taker in self._nodes.values():
                taken = list(self._list_taken(name, taker))
                asked = self._list_asked(node, taker)
                found = [
                    self._find_elsewhere(value, names, remain, node, asked)
                    for value, names in taken
                ]
                if taken and all(found):
                    reported.add(name)
                    yield Shortcut(name, taker.id, taken[0][0], found[0])

    def list_flows(self) -> Iterator[tuple[str, str, Json]]:
        """Node, step that takes a value from it, and the value: those that the user does not say,
        and that tell something apart."""
        for name in self._nodes:
            for taker in self._nodes.values():
                if isinstance(taker, ChainStep):
                    taken = (value for value, _ in self._list_taken(name, taker))
                    yield from (
                        (name, taker.id, value)
                        for value in taken
                        if not _is_bare(value) and not self._is_said(value)
                    )

    def find_sole(self, group: Set[str]) -> str:
        """A value that only these nodes give: neither the request nor a reply that remains without
        them has it. Empty if none."""
        gone = self._list_resting(*group)
        remain = [step for step in self._leaves if step not in gone]
        for name in sorted(group):
            node = self._nodes[name]
            for taker in (one for one in self._nodes.values() if one.id not in group):
                asked = self._list_asked(node, taker)
                for value, names in self._list_taken(name, taker):
                    if not _is_bare(value) and not self._find_elsewhere(
                        value, names, remain, node, asked
                    ):
                        return f"{value!r}, which {taker.id} takes from {name}"
        return ""

    def _list_resting(self, *names: str) -> set[str]:
        """The nodes, and all that rests on them."""
        gone = {*names}
        while more := {
            one for one, waits in self._waits.items() if one not in gone and waits & gone
        }:
            gone |= more
        return gone

    def _list_taken(self, name: str, taker: Node) -> Iterator[tuple[Json, set[str]]]:
        """Values that a node has from another one, each with the names that it goes by."""
        if isinstance(taker, ChainStep):
            for argument, source in taker.arguments.items():
                if self._comes_from(source, name):
                    names = {
                        _name_last(argument),
                        _name_last(source.path) if isinstance(source, FromNode | FromItem) else "",
                    } - {""}
                    yield from (
                        (value, names)
                        for call in self._calls[taker.id]
                        for value in _read(call, argument)
                    )
        elif isinstance(taker, Reason) and any(
            self._comes_from(source, name) for source in taker.takes
        ):
            names = (
                {_name_last(one.path) for one in taker.takes[:1] if isinstance(one, FromNode)}
                if taker.rule == "choose"
                else set[str]()
            )
            yield from ((value, names) for value in self._enacted.derived.get(taker.id, []))

    def _comes_from(self, source: Source, name: str) -> bool:
        """Whether a source is that node, or the item of a loop over it."""
        if isinstance(source, FromItem):
            loop = self._nodes.get(source.loop)
            return isinstance(loop, Loop) and loop.over.node == name
        return isinstance(source, FromNode) and source.node == name

    def _list_asked(self, deleted: Node, taker: Node) -> list[Json]:
        """What the deleted node was asked with, and what the taker picked out of its reply by."""
        given = [value for call in self._calls[deleted.id] for value in call.values()]
        return [
            value
            for value in [*given, *(self._picks.get(one.id) for one in (deleted, taker))]
            if not _is_bare(value)
        ]

    def _find_elsewhere(
        self,
        value: Json,
        names: set[str],
        remain: Sequence[str],
        deleted: Node,
        asked: Sequence[Json],
    ) -> str:
        """Where a value stands that was taken from the deleted node; empty where no agent finds
        it."""
        if _is_bare(value):
            return ""
        is_key = isinstance(value, str) and value in self._keys
        if self._is_said(value):
            return REQUEST
        is_computed = isinstance(deleted, Reason) and deleted.rule != "choose"
        own = {
            (one.node, one.path)
            for one in list_sources(deleted)
            if isinstance(deleted, Reason) and isinstance(one, FromNode)
        }
        replies = [(step, leaves) for step in remain for leaves in self._leaves[step]]
        for step, leaves in replies:
            for leaf in (
                one for one in leaves if one.value == value and (step, one.path) not in own
            ):
                if is_computed:
                    is_found = not leaf.rows
                elif is_key and self._is_own_key(leaf, leaves):
                    is_found = self._is_picked_out(leaf, leaves)
                else:
                    is_found = (is_key or _name_last(leaf.path) in names) and _holds_any(
                        asked, leaf, leaves
                    )
                if is_found:
                    return f"the reply to {step} at `{leaf.path}`"
        return ""

    def _is_said(self, value: Json) -> bool:
        """Whether the user says it; a key is never said."""
        return not (isinstance(value, str) and value in self._keys) and mentions(self._words, value)

    def _is_own_key(self, leaf: _Leaf, leaves: Sequence[_Leaf]) -> bool:
        """Whether its row is the record of that key, and no record that refers to it."""
        if _name_last(leaf.path) == "id":
            return True
        beside = (
            one
            for one in leaves
            if one.rows == leaf.rows and isinstance(one.value, str) and one.value in self._keys
        )
        return next(beside) == leaf

    def _is_picked_out(self, leaf: _Leaf, leaves: Sequence[_Leaf]) -> bool:
        """Whether it is the only record there, or its row holds a text of the request that no other
        row holds."""
        if (
            not leaf.rows
            or len({canonical_json(one.value) for one in leaves if one.path == leaf.path}) == 1
        ):
            return True
        told = [
            one
            for one in leaves
            if one.rows == leaf.rows and isinstance(one.value, str) and one.value not in self._keys
        ]
        rows = {
            one.path: [
                other.rows for other in leaves if (other.path, other.value) == (one.path, one.value)
            ]
            for one in told
        }
        return any(
            rows[one.path] == [leaf.rows] and mentions(self._words, one.value) for one in told
        )


def is_passing(reason: Reason, enacted: Enacted) -> bool:
    """Whether it chooses the only value that there is: then it is part of the step that it takes
    from."""
    source = reason.takes[0] if reason.takes else None
    if reason.rule != "choose" or not isinstance(source, FromNode):
        return False
    replies = [
        reply
        for step, reply in zip(enacted.steps, enacted.replies, strict=True)
        if step == source.node
    ]
    options = {
        canonical_json(leaf.value)
        for reply in replies
        for leaf in _list_leaves(reply)
        if leaf.path == source.path
    }
    return len(options) == 1


def _is_bare(value: Json) -> bool:
    """Whether it tells nothing apart."""
    return value is None or isinstance(value, bool) or value in ("", [], {})


def _holds_any(asked: Sequence[Json], leaf: _Leaf, leaves: Sequence[_Leaf]) -> bool:
    """Whether the row of a value holds one of these; of a text, at least in part."""
    beside = [one.value for one in leaves if one.rows == leaf.rows and one is not leaf]
    return any(value == held or _contains(held, value) for value in asked for held in beside)


def _contains(text: Json, part: Json) -> bool:
    return (
        isinstance(text, str)
        and isinstance(part, str)
        and len(part) >= _TELLING
        and part.casefold() in text.casefold()
    )


def _list_leaves(value: Json, path: str = "", rows: tuple[int, ...] = ()) -> Iterator[_Leaf]:
    if is_object(value):
        for name, held in value.items():
            yield from _list_leaves(held, f"{path}.{name}" if path else name, rows)
    elif is_array(value):
        for place, held in enumerate(value):
            yield from _list_leaves(held, f"{path}[]", (*rows, place))
    else:
        yield _Leaf(path, value, rows)


def _read(arguments: dict[str, Json], path: str) -> list[Json]:
    try:
        found = read_path(arguments, path)
    except BuildError:
        return []
    return list(found) if is_array(found) else [found]


def _name_last(path: str) -> str:
    return path.rpartition(".")[2].removesuffix("[]")
