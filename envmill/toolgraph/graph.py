"""The graph: tools and parameters are nodes. Edges are the values that one tool can pass to
another, each with its evidence.

tool A ──► output `orders[].id` ──Link──► input `order_id` ──► tool B
   └──────────────────────Bond (tables, conditions)──────────────┘
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from envmill.toolgraph.evidence.base import Label, ToolBond, ValueLink
from envmill.toolgraph.parameters import NOBODY, Parameters, ToolParameter, list_around
from schemas.sketch import ToolSketch

WEIGHTS: Mapping[Label, float] = {"strong": 3.0, "weak": 2.0, "independent": 1.0}


class ToolGraph:
    """Immutable after construction. Iteration follows the order of the tools."""

    def __init__(
        self,
        tools: Sequence[ToolSketch],
        parameters: Parameters,
        links: Mapping[int, tuple[ValueLink, ...]],
        bonds: Mapping[tuple[int, int], tuple[ToolBond, ...]],
        refused: Counter[str],
    ) -> None:
        self.tools, self.parameters, self.bonds, self.refused = tools, parameters, bonds, refused
        self.links = links
        """Input → links to it, the strongest first."""
        self.index = {tool.name: index for index, tool in enumerate(tools)}

    @cached_property
    def suppliers(self) -> dict[int, dict[int, ValueLink]]:
        """Input → outputs and columns that can supply it."""
        return {taker: {link.giver: link for link in found} for taker, found in self.links.items()}

    @cached_property
    def producers(self) -> dict[int, tuple[int, ...]]:
        """Input → tools that can supply it, the strongest first."""
        all = self.parameters.all
        return {
            taker: tuple(
                dict.fromkeys(
                    all[link.giver].owner for link in found if all[link.giver].owner != NOBODY
                )
            )
            for taker, found in self.links.items()
        }

    @cached_property
    def successors(self) -> list[tuple[int, ...]]:
        """Tool → tools that can take its outputs, or follow it by a bond."""
        found = defaultdict[int, set[int]](set)
        for first, then in self.labels:
            found[first].add(then)
        return [tuple(sorted(found[tool])) for tool in range(len(self.tools))]

    @cached_property
    def labels(self) -> dict[tuple[int, int], Label]:
        """Pair of tools → how much the second depends on the first.

        Strong: only the first supplies some required input. Weak: it supplies a reference, as
        others do. Independent: a plain value, or only a bond."""
        labels = dict[tuple[int, int], Label]()
        for pair in self.bonds:
            if self.is_bound(*pair):
                labels[pair] = "independent"
        for taker, producers in self.producers.items():
            parameter = self.parameters.all[taker]
            only = len(producers) == 1 and parameter.required and not parameter.told
            label: Label = "strong" if only else "weak" if parameter.is_reference else "independent"
            for producer in producers:
                pair = (producer, parameter.owner)
                labels[pair] = max(label, labels.get(pair, label), key=WEIGHTS.__getitem__)
        for pair, bonds in self.bonds.items():
            labels.update(
                (pair, bond.label) for bond in bonds if bond.label is not None and pair in labels
            )
        return labels

    def is_bound(self, first: int, then: int) -> bool:
        """Whether evidence ties the two without a value. A candidate counts if a judge called the
        pair strong or weak."""
        bonds = self.bonds.get((first, then), ())
        return any(bond.strength for bond in bonds if not bond.is_candidate)

    @cached_property
    def weights(self) -> list[dict[int, float]]:
        """Tool → successor → weight in a walk: the weight of its label, and more for a bond."""
        weights: list[dict[int, float]] = [{} for _ in self.tools]
        for (first, then), label in self.labels.items():
            weights[first][then] = WEIGHTS[label] + max(
                (bond.strength for bond in self.bonds.get((first, then), ())), default=0.0
            )
        return weights

    @cached_property
    def required(self) -> list[tuple[ToolParameter, ...]]:
        """Tool → required inputs."""
        return [tuple(one for one in side if one.required) for side in self.parameters.inputs]

    @cached_property
    def offers(self) -> dict[int, dict[int, tuple[tuple[int, ToolParameter], ...]]]:
        """Input → tool → outputs that can supply it, each with its rank among all links to the
        input."""
        found = dict[int, dict[int, tuple[tuple[int, ToolParameter], ...]]]()
        for taker, links in self.links.items():
            tools = found.setdefault(taker, {})
            for rank, link in enumerate(links):
                giver = self.parameters.all[link.giver]
                tools[giver.owner] = (*tools.get(giver.owner, ()), (rank, giver))
        return found

    @cached_property
    def linked(self) -> list[tuple[ToolParameter, ...]]:
        """Tool → inputs that something can supply."""
        return [
            tuple(one for one in side if one.index in self.links) for side in self.parameters.inputs
        ]

    @cached_property
    def companions(self) -> list[dict[str, tuple[ToolParameter, ...]]]:
        """Tool → optional part of its arguments → inputs that are required if that part is
        present."""
        found: list[dict[str, list[ToolParameter]]] = [{} for _ in self.tools]
        for one in (one for side in self.parameters.inputs for one in side if one.needed_with):
            found[one.owner].setdefault(str(one.needed_with), []).append(one)
        return [{part: tuple(inputs) for part, inputs in parts.items()} for parts in found]

    def find_needed(self, tool: int, paths: Iterable[str]) -> Iterator[ToolParameter]:
        """Inputs that a call with these inputs must have."""
        yield from self.required[tool]
        if parts := self.companions[tool]:
            for part in dict.fromkeys(part for path in paths for part in list_around(path)):
                yield from parts.get(part, ())

    @cached_property
    def recorded(self) -> frozenset[int]:
        """Inputs whose value some record holds."""
        all = self.parameters.all
        return frozenset(
            taker
            for taker, found in self.links.items()
            if any(all[link.giver].owner == NOBODY for link in found)
        )

    @cached_property
    def makers(self) -> dict[str, tuple[int, ...]]:
        """Statement → tools that make it true."""
        found = defaultdict[str, list[int]](list)
        for index, tool in enumerate(self.tools):
            for statement in tool.ensures:
                found[statement].append(index)
        return {statement: tuple(tools) for statement, tools in found.items()}

    @cached_property
    def reachable(self) -> frozenset[int]:
        """Tools that some chain can call. It starts with what a user says and records hold, and
        adds outputs of callable tools until nothing changes."""
        reached = set[int]()
        waiting = set(range(len(self.tools)))
        while added := {tool for tool in waiting if self._is_callable(tool, reached)}:
            reached |= added
            waiting -= added
        return frozenset(reached)

    def _is_callable(self, tool: int, reached: set[int]) -> bool:
        def is_supplied(taker: ToolParameter) -> bool:
            known = taker.told or taker.index in self.recorded
            return known or any(
                producer in reached for producer in self.producers.get(taker.index, ())
            )

        return all(map(is_supplied, self.required[tool]))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Tools that can be called first and have a successor."""
        alone = (tool for tool in range(len(self.tools)) if self._is_callable(tool, set()))
        return tuple(tool for tool in alone if self.successors[tool])

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """Starts that give something and depend strongly on nothing."""
        needy = {then for (_, then), label in self.labels.items() if label == "strong"}
        return tuple(
            tool for tool in self.starts if self.parameters.outputs[tool] and tool not in needy
        )

    @cached_property
    def goals(self) -> tuple[int, ...]:
        """Tools that can be called only after another tool; if there are none, all tools that can
        be called."""
        found = tuple(tool for tool in sorted(self.reachable) if not self._is_callable(tool, set()))
        return found or tuple(sorted(self.reachable))

    @cached_property
    def item_takers(self) -> dict[tuple[int, str], tuple[int, ...]]:
        """Tool and list in its reply → tools that take a value of an item."""
        found = defaultdict[tuple[int, str], set[int]](set)
        for taker, links in self.links.items():
            for link in links:
                giver = self.parameters.all[link.giver]
                if (
                    giver.owner != NOBODY
                    and giver.depth == 1
                    and "." in giver.path.partition("[]")[2]
                ):
                    found[giver.owner, giver.path.partition("[]")[0] + "[]"].add(
                        self.parameters.all[taker].owner
                    )
        return {key: tuple(sorted(tools)) for key, tools in sorted(found.items())}

    @cached_property
    def lists(self) -> tuple[tuple[int, str], ...]:
        """Lists in replies of callable tools whose items some tool can take."""
        return tuple(key for key in self.item_takers if key[0] in self.reachable)

    @cached_property
    def uses(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a tool that gives one new thing and a tool that takes its reference. A person
        cannot know a reference to something new, such as an id."""
        found, all = set[tuple[int, int]](), self.parameters.all
        for taker in (all[index] for index in self.links):
            for link in self.links[taker.index] if taker.is_reference and not taker.told else ():
                giver = all[link.giver]
                if giver.owner != NOBODY and not giver.depth and self._is_made(giver):
                    found.add((giver.owner, taker.owner))
        return tuple(sorted(pair for pair in found if set(pair) <= self.reachable))

    @cached_property
    def used_by(self) -> dict[int, tuple[int, ...]]:
        """Tool that gives one new thing → tools that take its reference."""
        found = defaultdict[int, list[int]](list)
        for maker, user in self.uses:
            found[maker].append(user)
        return {maker: tuple(users) for maker, users in found.items()}

    def _is_made(self, giver: ToolParameter) -> bool:
        """Whether the tool gives the reference to its entity and does not take it."""
        taken = {one.words for one in self.parameters.inputs[giver.owner]}
        return (
            giver.words[:-1] == self.parameters.entities[giver.owner] and giver.words not in taken
        )

    def links_between(self, first: int, then: int) -> Iterator[ValueLink]:
        """Links from one tool to the other."""
        for parameter in self.parameters.inputs[then]:
            yield from (
                link
                for link in self.links.get(parameter.index, ())
                if self.parameters.all[link.giver].owner == first
            )

    def count(self) -> dict[str, int]:
        """Counts of its contents, for tables and reports."""
        return {
            "tools": len(self.tools),
            "parameters": len(self.parameters.all),
            "links": sum(map(len, self.links.values())),
            "edges": len(self.labels),
            **{f"refused: {reason}": count for reason, count in sorted(self.refused.items())},
        }
