"""The validator: judges every chain, whether a sampler or an author made it.

chain ─► names, sizes ─► node by node, each argument derivable at its place ─► nothing idle, all of one piece ─► faults
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import render_argument
from envmill.toolgraph.references import Walked, find_circular, list_references, walk_nodes
from envmill.toolgraph.values import Scope, Value, derive, may_go, resolve
from schemas.chain import Branch, Chain, ChainStep, FromNode, FromUser, Loop, Node, Reason, Source
from schemas.seed import Brief


@dataclass(frozen=True)
class ChainFault:
    """Why a chain is refused."""

    code: str
    """Code by which refusals are counted."""
    node: str
    """Id of the node; empty for the whole chain."""
    detail: str = ""


@dataclass(frozen=True)
class ChainLimits:
    """Limits on the size of a chain."""

    least: int = 3
    """Steps."""
    most: int = 8
    """Steps."""
    repeats: bool = False
    """Whether two steps may call the same tool."""
    apart: bool = False
    """Whether there may be steps that nothing ties to the others."""


LIMITS = ChainLimits()
WRITTEN = ChainLimits(least=1, most=40, repeats=True)
"""Limits of a written chain if the brief sets no number of calls: a request may want one thing, or
the same thing twice."""
SETTLED = frozenset(
    ("another_entity", "wrong_type", "not_linked", "many", "gone", "adrift", "idle")
)
"""Codes of faults that are inferred from names and types. If the chain is carried out, the tools
decide instead: they refuse an id of another thing, and a value that no call takes may be what the
user is told."""
SLACK = 0.25
"""Share by which the number of calls of a path may differ from the wanted one."""


def bound_calls(wanted: int) -> tuple[int, int]:
    """Minimal and maximal number of calls of a path that should have `wanted` of them."""
    return round(wanted * (1 - SLACK)), round(wanted * (1 + SLACK))


def limit_written(brief: Brief) -> ChainLimits:
    """Limits of a written chain. A brief that asks for long paths allows longer chains."""
    return (
        WRITTEN
        if brief.calls is None
        else replace(WRITTEN, most=max(WRITTEN.most, bound_calls(brief.calls)[1]))
    )


def find_faults(graph: ToolGraph, chain: Chain, limits: ChainLimits = LIMITS) -> list[ChainFault]:
    """Every fault, in the order of the chain; none if the chain is valid."""
    walked = list(walk_nodes(chain.nodes))
    faults = list(_judge_whole(walked, limits))
    judge = _Judge(graph, find_circular(walked), frozenset(one.node.id for one in walked))
    scope = Scope(holds=frozenset(chain.given))
    judge.judge_all(chain.nodes, scope)
    faults += judge.faults
    if not faults:
        faults += _find_idle(walked)
        faults += [] if limits.apart else _find_adrift(graph, walked)
    return faults


def _judge_whole(walked: Sequence[Walked], limits: ChainLimits) -> Iterator[ChainFault]:
    ids = Counter(one.node.id for one in walked)
    yield from (ChainFault("same_id", id) for id, count in ids.items() if count > 1)
    tools = [one.node.tool for one in walked if isinstance(one.node, ChainStep)]
    if len(tools) < limits.least:
        yield ChainFault("too_short", "", f"{len(tools)} steps of at least {limits.least}")
    if len(tools) > limits.most:
        yield ChainFault("too_long", "", f"{len(tools)} steps of at most {limits.most}")
    if not limits.repeats:
        yield from (
            ChainFault("twice", "", tool) for tool, count in Counter(tools).items() if count > 1
        )


class _Judge:
    """Judges the nodes in order."""

    def __init__(self, graph: ToolGraph, circular: frozenset[str], ids: frozenset[str]) -> None:
        self.faults: list[ChainFault] = []
        self._graph, self._circular, self._ids = graph, circular, ids

    def judge_all(self, nodes: Sequence[Node], scope: Scope) -> None:
        for node in nodes:
            if isinstance(node, ChainStep):
                self._judge_step(node, scope)
            elif isinstance(node, Reason):
                self._judge_reason(node, scope)
            elif isinstance(node, Branch):
                self._judge_branch(node, scope)
            else:
                self._judge_loop(node, scope)

    def _judge_step(self, step: ChainStep, scope: Scope) -> None:
        tool = self._graph.index.get(step.tool)
        if tool is None:
            self._blame("unknown_tool", step, step.tool)
            return
        named = set[str]()
        for path, source in step.arguments.items():
            taker = self._graph.parameters.find_input(tool, path)
            if taker is None:
                self._blame("unknown_argument", step, path)
                continue
            named.add(taker.path)
            if source in scope.gone:
                self._blame("gone", step, f"{path} from {_render(source)}")
            value = self._resolve(step, scope, source)
            if value is not None and (code := may_go(self._graph, value, taker)):
                self._blame(code, step, f"{path} from {_render(source)}")
        for one in self._graph.find_needed(tool, named):
            if one.path not in named:
                self._blame("unbound", step, render_argument(one.path))
        self._judge_conditions(step, tool, scope)
        scope.steps[step.id] = tool
        if tool in self._graph.parameters.ending:
            scope.gone |= set(self._list_ended(step, tool))

    def _list_ended(self, step: ChainStep, tool: int) -> Iterator[Source]:
        """References that select the thing that a tool ends, without references to its owner."""
        entity = self._graph.parameters.entities[tool]
        for path, source in step.arguments.items():
            taker = self._graph.parameters.find_input(tool, path)
            if (
                taker is not None
                and taker.is_reference
                and taker.words[:-1] == entity
                and not isinstance(source, FromUser)
            ):
                yield source

    def _judge_conditions(self, step: ChainStep, tool: int, scope: Scope) -> None:
        sketch = self._graph.tools[tool]
        for statement in sketch.requires:
            if statement not in scope.holds:
                self._blame("precondition", step, statement)
        scope.holds = settle(scope.holds, sketch.ensures)

    def _judge_reason(self, node: Reason, scope: Scope) -> None:
        value = derive(self._graph, scope, node.rule, node.takes)
        if isinstance(value, str):
            self._blame(self._refine(value, node.takes), node, node.rule)
        else:
            scope.reasons[node.id] = value

    def _judge_branch(self, node: Branch, scope: Scope) -> None:
        """A later node cannot rely on what happens in one arm only."""
        value = self._resolve(node, scope, node.left)
        if value is not None and not _can_be_compared(value, node):
            self._blame("no_condition", node, _render(node.left))
        if not node.then:
            self._blame("empty", node)
        arms = scope.copy(), scope.copy()
        self.judge_all(node.then, arms[0])
        self.judge_all(node.otherwise, arms[1])
        scope.holds = arms[0].holds & arms[1].holds
        scope.gone = arms[0].gone | arms[1].gone

    def _judge_loop(self, node: Loop, scope: Scope) -> None:
        """A list may be empty, so a later node cannot rely on the body."""
        tool = scope.steps.get(node.over.node)
        if tool is None:
            self._blame(self._refine("not_there_yet", [node.over]), node, _render(node.over))
            return
        around = f"{node.over.path}."
        outputs = self._graph.parameters.out_by_path[tool]
        if not node.over.path.endswith("[]") or not any(
            f"{path}.".startswith(around) for path in outputs
        ):
            self._blame("no_list", node, _render(node.over))
            return
        if not node.body:
            self._blame("empty", node)
        inner = scope.copy()
        inner.loops[node.id] = (tool, node.over.path)
        self.judge_all(node.body, inner)
        scope.holds &= inner.holds
        scope.gone |= inner.gone

    def _resolve(self, node: Node, scope: Scope, source: Source) -> Value | None:
        value = resolve(self._graph, scope, source)
        if isinstance(value, str):
            self._blame(self._refine(value, [source]), node, _render(source))
            return None
        return value

    def _refine(self, code: str, sources: Sequence[Source]) -> str:
        """A more exact code for a node that has no value yet: it waits for itself, comes later, is
        inside another node, or does not exist."""
        if code != "not_there_yet":
            return code
        named = {source.node for source in sources if isinstance(source, FromNode)}
        if named & self._circular:
            return "circle"
        return "not_there_yet" if named <= self._ids else "unknown_node"

    def _blame(self, code: str, node: Node, detail: str = "") -> None:
        self.faults.append(ChainFault(code, node.id, detail))


def _can_be_compared(value: Value, node: Branch) -> bool:
    """Whether two values can be compared: both are single, known by then and of one type. Only
    ordered types allow above and below."""
    if value.many or (value.parameter is None and value.rule is None):
        return False
    number = value.type in ("integer", "number")
    if node.op in ("above", "below") and not (
        number or (value.parameter is not None and value.parameter.format.startswith("date"))
    ):
        return False
    kinds = (int, float) if number else bool if value.type == "boolean" else str
    return (
        node.right is None
        or not value.type
        or (isinstance(node.right, kinds) and not (number and isinstance(node.right, bool)))
    )


def settle(holds: frozenset[str], ensures: Sequence[str]) -> frozenset[str]:
    """Statements that are true after a tool with these effects."""
    undone = {
        statement.removeprefix("not ") for statement in ensures if statement.startswith("not ")
    }
    return (
        (holds - undone) | {statement for statement in ensures if not statement.startswith("not ")}
        if ensures
        else holds
    )


def _find_idle(walked: Sequence[Walked]) -> Iterator[ChainFault]:
    """Reasoning nodes that no other node uses, and loops whose body never uses the item."""
    used = {name for one in walked for name in list_references(one.node)}
    yield from (
        ChainFault("idle", one.node.id)
        for one in walked
        if isinstance(one.node, Reason | Loop) and one.node.id not in used
    )


def _find_adrift(graph: ToolGraph, walked: Sequence[Walked]) -> Iterator[ChainFault]:
    """Steps that nothing ties to the others: no value, bond or condition, and no common loop or
    branch."""
    group = {one.node.id: one.node.id for one in walked}

    def find(id: str) -> str:
        while group[id] != id:
            id = group[id]
        return id

    for one in walked:
        for name in (*list_references(one.node), *one.around):
            group[find(one.node.id)] = find(name)
    steps = [
        (one.node.id, graph.index[one.node.tool])
        for one in walked
        if isinstance(one.node, ChainStep)
    ]
    for place, (id, tool) in enumerate(steps):
        for earlier, first in steps[:place]:
            if graph.is_bound(first, tool):
                group[find(id)] = find(earlier)
    whole = find(steps[0][0]) if steps else ""
    yield from (ChainFault("adrift", id) for id, _ in steps if find(id) != whole)


def _render(source: Source) -> str:
    return " ".join(str(value) for value in source.model_dump().values() if value)
