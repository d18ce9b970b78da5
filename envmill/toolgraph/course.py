"""A course: an unfinished chain. It knows what its steps give, and finds a source for each argument
of the next tool.

Bound arguments are proposals: the validator judges them with code that shares nothing with this one
but the graph.
"""

import random
from collections.abc import Iterator
from operator import itemgetter

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import NOBODY, ToolParameter, render_argument
from envmill.toolgraph.validity import settle
from schemas.chain import (
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    FromRecord,
    FromUser,
    Node,
    Reason,
    Source,
)

GIVEN_ON = 0.7
"""Probability that an argument that a user could say is taken from an earlier reply, if one has
it."""
OPTIONAL = 0.3
"""Probability that an optional input is used, if an earlier reply gives it."""
MOST_OPTIONAL = 2
"""Maximal number of optional inputs of one step."""

Bound = tuple[Source, FromNode | None]
"""Source of a value, and the list from which it must be chosen first."""


class Course:
    """The nodes so far. `loop`: the tool and list whose items can be taken."""

    def __init__(self, graph: ToolGraph, chance: random.Random) -> None:
        self.graph, self.chance = graph, chance
        self.nodes: list[Node] = []
        self.steps: dict[int, str] = {}
        """Tool → its step."""
        self.given: list[str] = []
        self.loop: tuple[str, int, str] | None = None
        """Enclosing loop, the tool whose reply it iterates over, and the list's path."""
        self.prefer: frozenset[str] = frozenset()
        """Steps to which the next one must be tied; if empty, any step."""
        self._holds, self._undone = frozenset[str](), frozenset[str]()
        self._chosen: dict[tuple[str, str], str] = {}
        self._gone = set[Source]()

    def add(self, tool: int, *, loose: bool = False) -> str:
        """Add the next step. Returns an empty text, or the reason why it cannot be added. A loose
        step need not be tied to earlier ones, because later ones will be tied to it."""
        made = self._make(tool, loose)
        if isinstance(made, str):
            return made
        self.nodes += made
        self.steps[tool] = made[-1].id
        return ""

    def _make(self, tool: int, loose: bool) -> list[Node] | str:
        if tool in self.steps:
            return "twice"
        requires = self.graph.tools[tool].requires
        if any(statement in self._undone for statement in requires):
            return "precondition"
        bound = self._bind(tool, loose)
        if isinstance(bound, str):
            return bound
        reasons, arguments = list[Node](), dict[str, Source]()
        for path, (source, choice) in bound.items():
            arguments[render_argument(path)] = (
                self._choose(choice, reasons) if choice is not None else source
            )
        self._settle(tool)
        self._end(tool, arguments)
        step = ChainStep(
            id=f"s{len(self.steps) + 1}", tool=self.graph.tools[tool].name, arguments=arguments
        )
        return [*reasons, step]

    def _end(self, tool: int, arguments: dict[str, Source]) -> None:
        """References to a thing that is ended here are not used again."""
        parameters = self.graph.parameters
        if tool in parameters.ending:
            takers = [(path, parameters.find_input(tool, path)) for path in arguments]
            about = [
                path
                for path, taker in takers
                if taker and taker.words[:-1] == parameters.entities[tool]
            ]
            self._gone.update(arguments[path] for path in about)

    def _settle(self, tool: int) -> None:
        sketch = self.graph.tools[tool]
        self.given += [one for one in sketch.requires if one not in self._holds]
        before = self._holds | set(sketch.requires)
        self._holds = settle(before, sketch.ensures)
        self._undone = (self._undone | (before - self._holds)) - self._holds

    def _bind(self, tool: int, loose: bool) -> dict[str, Bound] | str:
        """Path → source of its value. The tool must be tied to an earlier step, unless it is
        loose."""
        bound, tied = dict[str, Bound](), loose or not self.steps or self._is_bound(tool)
        for taker in self.graph.required[tool]:
            found = (
                self._find_flow(taker)
                if not taker.told or self.chance.random() < GIVEN_ON
                else None
            )
            tied |= found is not None and self._ties(found)
            source = found or self._find_elsewhere(taker)
            if source is None:
                return "unbound"
            bound[taker.path] = source
        for taker, found in self._find_optional(tool, tied):
            bound[taker.path] = found
            tied |= self._ties(found)
        return bound if tied else "adrift"

    def _ties(self, bound: Bound) -> bool:
        source = bound[1] or bound[0]
        return not isinstance(source, FromNode) or not self.prefer or source.node in self.prefer

    def _find_elsewhere(self, taker: ToolParameter) -> Bound | None:
        if taker.told:
            return FromUser(), None
        columns = [
            one
            for link in self.graph.links.get(taker.index, ())
            if (one := self.graph.parameters.all[link.giver]).owner == NOBODY
        ]
        if not columns:
            return None
        table, _, column = columns[0].path.partition(".")
        return FromRecord(table=table, column=column), None

    def _find_optional(self, tool: int, tied: bool) -> Iterator[tuple[ToolParameter, Bound]]:
        """Some optional inputs that replies can supply. If nothing else ties the tool, one that
        does, even if a user could say it."""
        left = MOST_OPTIONAL
        for taker in self.graph.linked[tool]:
            if not left:
                return
            if taker.required and (tied or not taker.told):
                continue
            found = self._find_flow(taker) if not tied or self.chance.random() < OPTIONAL else None
            beside = (
                self._find_beside(tool, taker) if found and (tied or self._ties(found)) else None
            )
            if found and beside is not None:
                tied, left = True, left - 1
                yield taker, found
                yield from beside

    def _find_beside(
        self, tool: int, taker: ToolParameter
    ) -> list[tuple[ToolParameter, Bound]] | None:
        """Further inputs that an optional input makes required, because its part of the arguments
        requires them; None if one of them has no source."""
        found = list[tuple[ToolParameter, Bound]]()
        for one in self.graph.find_needed(tool, [taker.path]):
            if not one.required and one != taker:
                source = self._find_elsewhere(one) or self._find_flow(one)
                if source is None:
                    return None
                found.append((one, source))
        return found

    def _is_bound(self, tool: int) -> bool:
        return any(self.graph.is_bound(earlier, tool) for earlier in self.steps)

    def _find_flow(self, taker: ToolParameter) -> Bound | None:
        """A source: an item of the loop, a reply, or a choice from a list of a reply. Preferred
        sources come first, then the strongest."""
        best: Bound | None = None
        for _, giver in self._list_offers(taker):
            found = self._reach(giver, taker)
            if found is None:
                continue
            if found[1] is None and self._ties(found):
                return found
            if best is None or (not self._ties(best) and self._ties(found)):
                best = found
        return best

    def _list_offers(self, taker: ToolParameter) -> list[tuple[int, ToolParameter]]:
        """What the steps can supply, the strongest first."""
        offers = self.graph.offers.get(taker.index)
        if offers is None:
            return []
        found = [one for tool in self.steps if tool in offers for one in offers[tool]]
        found.sort(key=itemgetter(0))
        return found

    def _is_free(self, choice: FromNode) -> bool:
        """Whether the choice from this list, if one was made, is still usable."""
        return FromNode(node=self._chosen.get((choice.node, choice.path), "")) not in self._gone

    def _reach(self, giver: ToolParameter, taker: ToolParameter) -> Bound | None:
        if (
            self.loop
            and giver.owner == self.loop[1]
            and giver.depth == 1
            and giver.path.startswith(f"{self.loop[2]}.")
        ):
            item = FromItem(loop=self.loop[0], path=giver.path)
            return None if item in self._gone or self._is_said(taker) else (item, None)
        source = FromNode(node=self.steps[giver.owner], path=giver.path)
        if giver.depth <= taker.depth:
            return None if source in self._gone else (source, None)
        return (
            (source, source)
            if giver.depth == taker.depth + 1 and self._is_free(source) and not self._is_said(taker)
            else None
        )

    def _is_said(self, taker: ToolParameter) -> bool:
        """Whether a person would just say the value. People do not pick a capacity from a list of
        other things, or take the number of something new from existing records."""
        if not taker.told or not taker.is_reference:
            return taker.told
        about = self.graph.parameters.entities[taker.owner]
        own = [
            one for one in self.graph.required[taker.owner] if one.told and one.words[:-1] == about
        ]
        return taker.words[:-1] == about and len(own) > 1

    def _choose(self, of: FromNode, reasons: list[Node]) -> FromNode:
        """A choice that was made before is used again."""
        known = self._chosen.get((of.node, of.path))
        if known is None:
            known = f"r{len(self._chosen) + 1}"
            self._chosen[of.node, of.path] = known
            reasons.append(Reason(id=known, rule="choose", takes=[of, FromUser()]))
        return FromNode(node=known)

    def finish(self, sampler: str) -> Chain:
        return Chain(sampler=sampler, nodes=self.nodes, given=list(dict.fromkeys(self.given)))
