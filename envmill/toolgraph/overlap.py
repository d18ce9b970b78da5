"""Overlap: how much of a sampled chain a reference path contains, judged by its calls and their
replies.

sampled chain ─► steps, and what flows into their arguments ─┐
calls and replies of a path ─────────────────────────────────┴─► the best assignment of steps to calls ─► what is missing, and where
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from envmill.base.errors import BuildError
from envmill.toolgraph.chain_player import compute, read_path
from envmill.toolgraph.references import walk_nodes
from schemas.base import Json, canonical_json, is_array
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    Loop,
    Node,
    Overlap,
    Reason,
    Source,
)
from schemas.environment import Call

_MOST = 5_000
"""Maximal number of assignments that are tried. The tools of a sampled chain differ, so a path
allows few."""
_WAYS = 200
"""Maximal number of combinations of values from which a computed value may come."""


@dataclass(frozen=True)
class Flow:
    """An argument of a step that a sampled chain takes from earlier replies."""

    step: str
    argument: str
    source: Source
    givers: tuple[str, ...]
    """Steps whose replies supply it."""


@dataclass(frozen=True)
class MissingPart:
    """A step or argument of a sampled chain that a path lacks."""

    node: str
    tool: str
    words: str
    index: int | None = None
    """Number of the call that carries out the step, from 1."""
    arguments: Json | None = None


@dataclass(frozen=True)
class ChainMatch:
    """A path compared with a sampled chain."""

    overlap: Overlap
    missing: tuple[MissingPart, ...]


def match_chain(
    chain: Chain, calls: Sequence[Call], replies: Sequence[Json], done: Collection[str] = ()
) -> ChainMatch:
    """The best assignment of steps to calls, in the chain's order. `done`: steps that count; if
    empty, all steps."""
    matcher = _Matcher(chain, calls, replies, done)
    places = matcher.assign()
    flows = [flow for flow in matcher.flows if flow.step in places and matcher.holds(flow, places)]
    overlap = Overlap(
        sampler=chain.sampler,
        nodes=len(matcher.steps),
        nodes_found=len(places),
        flows=len(matcher.flows),
        flows_found=len(flows),
    )
    return ChainMatch(overlap, tuple(matcher.list_missing(places)))


def list_flows(chain: Chain) -> list[Flow]:
    """Every argument that takes its value from an earlier reply, directly or derived."""
    nodes = {one.node.id: one.node for one in walk_nodes(chain.nodes)}
    steps = [node for node in nodes.values() if isinstance(node, ChainStep)]
    found = [
        Flow(step.id, argument, source, tuple(dict.fromkeys(_list_givers(source, nodes))))
        for step in steps
        for argument, source in step.arguments.items()
    ]
    return [flow for flow in found if flow.givers]


def _list_givers(source: Source, nodes: Mapping[str, Node]) -> Iterator[str]:
    if isinstance(source, FromItem):
        loop = nodes.get(source.loop)
        yield from [loop.over.node] if isinstance(loop, Loop) else []
    elif isinstance(source, FromNode):
        node = nodes.get(source.node)
        if isinstance(node, ChainStep):
            yield node.id
        elif isinstance(node, Reason):
            for one in node.takes[:1] if node.rule == "choose" else node.takes:
                yield from _list_givers(one, nodes)


def list_values(
    source: Source, nodes: Mapping[str, Node], replies: Mapping[str, Json]
) -> list[Json]:
    """All values that a source may have, given the replies to the steps. Raises LookupError or
    BuildError if it has none."""
    if isinstance(source, FromItem):
        loop = nodes[source.loop]
        assert isinstance(loop, Loop)
        return _flatten(read_path(replies[loop.over.node], source.path))
    if not isinstance(source, FromNode):
        return []
    node = nodes[source.node]
    if isinstance(node, ChainStep):
        return _flatten(read_path(replies[node.id], source.path))
    assert isinstance(node, Reason)
    if node.rule in ("choose", "compose"):
        taken = node.takes[:1] if node.rule == "choose" else node.takes
        return [value for one in taken for value in list_values(one, nodes, replies)]
    found = [list_values(one, nodes, replies) for one in node.takes]
    if node.rule in ("count", "total"):
        return [compute(node, found)]
    return [compute(node, way) for _, way in zip(range(_WAYS), product(*found), strict=False)]


class _Matcher:
    """Assigns steps to calls."""

    def __init__(
        self, chain: Chain, calls: Sequence[Call], replies: Sequence[Json], done: Collection[str]
    ) -> None:
        self._calls, self._replies = calls, replies
        walked = list(walk_nodes(chain.nodes))
        self._nodes = {one.node.id: one.node for one in walked}
        steps = [node for node in self._nodes.values() if isinstance(node, ChainStep)]
        self.steps = [step for step in steps if not done or step.id in done]
        known = {step.id for step in self.steps}
        self.flows = [flow for flow in list_flows(chain) if {flow.step, *flow.givers} <= known]
        self._always = {
            one.node.id
            for one in walked
            if not any(isinstance(self._nodes[id], Branch) for id in one.around)
        }
        self._into = {
            step.id: [flow for flow in self.flows if flow.step == step.id] for step in self.steps
        }
        self._best, self._score, self._tried = dict[str, int](), -1, 0

    def assign(self) -> dict[str, int]:
        """Step → call, for as many steps and flows as possible."""
        self._try(0, 0, {}, 0)
        return self._best

    def _try(self, place: int, after: int, places: dict[str, int], score: int) -> None:
        self._tried += 1
        left = sum(1 + len(self._into[step.id]) for step in self.steps[place:])
        if score + left <= self._score or self._tried > _MOST:
            return
        if place == len(self.steps):
            self._best, self._score = dict(places), score
            return
        step = self.steps[place]
        for index in range(after, len(self._calls)):
            if self._calls[index].name == step.tool:
                now = places | {step.id: index}
                self._try(
                    place + 1,
                    index + 1,
                    now,
                    score + 1 + sum(self.holds(flow, now) for flow in self._into[step.id]),
                )
        self._try(place + 1, after, places, score)

    def holds(self, flow: Flow, places: Mapping[str, int]) -> bool:
        """Whether the call's argument has the value that these replies gave."""
        try:
            given = _flatten(read_path(self._calls[places[flow.step]].arguments, flow.argument))
            values = list_values(
                flow.source,
                self._nodes,
                {step: self._replies[place] for step, place in places.items()},
            )
        except (BuildError, LookupError):
            return False
        node = self._nodes.get(flow.source.node) if isinstance(flow.source, FromNode) else None
        if isinstance(node, Reason) and node.rule == "compose":
            return all(any(str(part) in str(one) for part in values) for one in given) and bool(
                given
            )
        return (
            bool(given)
            and all(one in values for one in given)
            and self._is_done_for_each(flow, values, places)
        )

    def _is_done_for_each(
        self, flow: Flow, values: Sequence[Json], places: Mapping[str, int]
    ) -> bool:
        """A loop carries out its body for every item of its list, unless a branch selects some."""
        if not isinstance(flow.source, FromItem) or flow.step not in self._always:
            return True
        first, tool = places[flow.givers[0]] + 1, self._calls[places[flow.step]].name
        made = [call.arguments for call in self._calls[first:] if call.name == tool]
        return all(
            any(value in _read(arguments, flow.argument) for arguments in made) for value in values
        )

    def list_missing(self, places: Mapping[str, int]) -> Iterator[MissingPart]:
        before = ""
        for step in self.steps:
            if step.id not in places:
                others = [
                    number for number, call in enumerate(self._calls, 1) if call.name == step.tool
                ]
                seen = (
                    f"call {others[0]} is one, and it stands elsewhere"
                    if others
                    else "no call of the path is one"
                )
                yield MissingPart(
                    step.id,
                    step.tool,
                    f"node {step.id} asks for a call of {step.tool}{before}; {seen}",
                )
                continue
            index = places[step.id]
            before = f" after call {index + 1} ({step.tool})"
            for flow in self._into[step.id]:
                if not self.holds(flow, places):
                    call = self._calls[index]
                    each = (
                        ", once for each of the items" if isinstance(flow.source, FromItem) else ""
                    )
                    words = (
                        f"node {step.id} takes {flow.argument} from "
                        f"{self._describe(flow, places)}{each}; this call does not"
                    )
                    yield MissingPart(step.id, step.tool, words, index + 1, call.arguments)

    def _describe(self, flow: Flow, places: Mapping[str, int]) -> str:
        told = [
            f"the reply to {node.tool} "
            f"({f'call {places[giver] + 1}' if giver in places else 'which is missing'})"
            for giver in flow.givers
            if isinstance(node := self._nodes[giver], ChainStep)
        ]
        path = flow.source.path if isinstance(flow.source, FromNode | FromItem) else ""
        node = self._nodes.get(flow.source.node) if isinstance(flow.source, FromNode) else None
        if isinstance(node, Reason):
            path = ", ".join(one.path for one in node.takes if isinstance(one, FromNode | FromItem))
        return " and ".join(told) + (f" at `{path}`" if path else "")


def _read(arguments: dict[str, Json], path: str) -> list[Json]:
    try:
        return _flatten(read_path(arguments, path))
    except BuildError:
        return []


def _flatten(value: Json) -> list[Json]:
    """Its values, each once, nested lists flattened."""
    found = [one for part in value for one in _flatten(part)] if is_array(value) else [value]
    return list({canonical_json(one): one for one in found}.values())
