"""A course: a chain in the making. It knows what its steps give, and finds for the next tool where each argument comes from.

Bound arguments are proposals: the validator judges them with code that shares nothing with this one but the graph.
"""

import random
from collections.abc import Iterator

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import NOBODY, Parameter
from envmill.toolgraph.validity import settle
from schemas.chain import Chain, FromItem, FromNode, FromRecord, FromUser, Node, Reason, Source, Step

GIVEN_ON = 0.7
"""How often an argument that a user could say is taken from an earlier reply where there is one."""
OPTIONAL = 0.3
"""How often an optional input is used that an earlier reply gives."""
MOST_OPTIONAL = 2
"""Of one step."""


class Course:
    """Nodes so far. `loop`: the tool and list whose items can be taken from."""

    def __init__(self, graph: ToolGraph, chance: random.Random) -> None:
        self.graph, self.chance = graph, chance
        self.nodes: list[Node] = []
        self.steps: dict[int, str] = {}
        """Tool → its step."""
        self.given: list[str] = []
        self.loop: tuple[str, int, str] | None = None
        """Loop we are in, the tool it goes over, and the list's path."""
        self._holds, self._undone = frozenset[str](), frozenset[str]()
        self._chosen: dict[tuple[str, str], str] = {}

    def add(self, tool: int) -> str:
        """The next step; empty, or why it cannot be one."""
        made = self._make(tool)
        if isinstance(made, str):
            return made
        self.nodes += made
        self.steps[tool] = made[-1].id
        return ""

    def _make(self, tool: int) -> list[Node] | str:
        if tool in self.steps:
            return "twice"
        requires = self.graph.tools[tool].requires
        if any(statement in self._undone for statement in requires):
            return "precondition"
        bound = self._bind(tool)
        if isinstance(bound, str):
            return bound
        reasons, arguments = list[Node](), dict[str, Source]()
        for path, (source, choice) in bound.items():
            arguments[path] = self._choose(choice, reasons) if choice is not None else source
        self._settle(tool)
        step = Step(id=f"s{len(self.steps) + 1}", tool=self.graph.tools[tool].name, arguments=arguments)
        return [*reasons, step]

    def _settle(self, tool: int) -> None:
        sketch = self.graph.tools[tool]
        self.given += [one for one in sketch.requires if one not in self._holds]
        before = self._holds | set(sketch.requires)
        self._holds = settle(before, sketch.ensures)
        self._undone = (self._undone | (before - self._holds)) - self._holds

    def _bind(self, tool: int) -> "dict[str, tuple[Source, FromNode | None]] | str":
        """Path → source, and the list that is to be chosen from first."""
        bound, flows = dict[str, tuple[Source, FromNode | None]](), 0
        for taker in self.graph.required[tool]:
            found = self._find_flow(taker) if not taker.told or self.chance.random() < GIVEN_ON else None
            flows += found is not None
            source = found or self._find_elsewhere(taker) or self._late_flow(taker)
            if source is None:
                return "unbound"
            bound[taker.path] = source
        for taker, found in self._find_optional(tool, must=bool(self.steps) and not flows and not self._is_bound(tool)):
            bound[taker.path] = found
            flows += 1
        return bound if flows or not self.steps or self._is_bound(tool) else "adrift"

    def _late_flow(self, taker: Parameter) -> "tuple[Source, FromNode | None] | None":
        return self._find_flow(taker) if taker.told else None

    def _find_elsewhere(self, taker: Parameter) -> tuple[Source, FromNode | None] | None:
        if taker.told:
            return FromUser(), None
        columns = [one for link in self.graph.links.get(taker.index, ()) if (one := self.graph.parameters.all[link.giver]).owner == NOBODY]
        if not columns:
            return None
        table, _, column = columns[0].path.partition(".")
        return FromRecord(table=table, column=column), None

    def _find_optional(self, tool: int, must: bool) -> Iterator[tuple[Parameter, tuple[Source, FromNode | None]]]:
        """Some of what replies give anyway; one at least where nothing else ties the tool to what was done before."""
        left = MOST_OPTIONAL
        for taker in self.graph.parameters.inputs[tool]:
            if not left or (taker.required and not (must and taker.told)):
                continue
            if taker.index in self.graph.links and (must or self.chance.random() < OPTIONAL) and (found := self._find_flow(taker)):
                must, left = False, left - 1
                yield taker, found

    def _is_bound(self, tool: int) -> bool:
        return any(self.graph.is_bound(earlier, tool) for earlier in self.steps)

    def _find_flow(self, taker: Parameter) -> tuple[Source, FromNode | None] | None:
        """From the item of the loop, from a reply, or from a list of a reply by choosing."""
        choice: FromNode | None = None
        for link in self.graph.links.get(taker.index, ()):
            giver = self.graph.parameters.all[link.giver]
            if self.loop and giver.owner == self.loop[1] and giver.path.startswith(f"{self.loop[2]}.") and giver.depth == 1:
                return FromItem(loop=self.loop[0], path=giver.path), None
            if giver.owner not in self.steps:
                continue
            source = FromNode(node=self.steps[giver.owner], path=giver.path)
            if giver.depth <= taker.depth:
                return source, None
            if choice is None and giver.depth == taker.depth + 1:
                choice = source
        return None if choice is None else (choice, choice)

    def _choose(self, of: FromNode, reasons: list[Node]) -> FromNode:
        """The same choice serves whoever needs it again."""
        known = self._chosen.get((of.node, of.path))
        if known is None:
            known = f"r{len(self._chosen) + 1}"
            self._chosen[of.node, of.path] = known
            reasons.append(Reason(id=known, rule="choose", takes=[of, FromUser()]))
        return FromNode(node=known)

    def finish(self, sampler: str) -> Chain:
        return Chain(sampler=sampler, nodes=self.nodes, given=list(dict.fromkeys(self.given)))
