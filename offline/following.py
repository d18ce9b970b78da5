"""Following a sampled chain: look-ups of the chain are added to a reference path until the path
contains it, or a node says why not.

own path ─► its changes carry out those of the chain, in order ─► look-ups of the chain in between, with values that flow ─► compared
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from envmill.base.errors import BuildError
from envmill.language.mentions import is_told
from envmill.sandbox.results import refer_to
from envmill.toolgraph.overlap import Flow, list_flows, list_values, match_chain
from envmill.toolgraph.references import walk_nodes
from offline.domain import TODAY, Domain, LedWish, Operation, OperationParameter
from offline.world import DomainWorld
from schemas.base import Json, is_array, is_object
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    Infeasible,
    Loop,
    Node,
    Reason,
    Source,
)
from schemas.environment import Call
from schemas.prompts import ScenarioReply

_BUDGET = 400
"""Look-ups tried for one path."""
_WAYS = 60
"""Combinations of values tried for one look-up."""


def follow(reply: ScenarioReply, sampled: Chain, domain: Domain) -> ScenarioReply | Infeasible:
    """The scenario with a path that contains the chain; or the node where it cannot."""
    steps = [one.node for one in walk_nodes(sampled.nodes) if isinstance(one.node, ChainStep)]
    if unknown := [step for step in steps if step.tool not in domain.operations]:
        return Infeasible(node=unknown[0].id, reason=f"There is no errand for {unknown[0].tool}.")
    places, after = dict[str, int](), 0
    for step in (one for one in steps if domain.operations[one.tool].effect == "change"):
        found = next(
            (
                place
                for place in range(after, len(reply.oracle))
                if reply.oracle[place].name == step.tool
            ),
            None,
        )
        if found is None:
            return Infeasible(
                node=step.id,
                reason=f"Nothing that a person would ask for here takes a call of {step.tool} at "
                "this point.",
            )
        places[step.id], after = found, found + 1
    search = _Search(reply, sampled, domain, steps, places)
    calls = search.find()
    return (
        reply.model_copy(update={"oracle": calls})
        if calls is not None
        else Infeasible(node=search.stuck, reason=_NO_VALUE)
    )


def lead_along(domain: Domain, sampled: Chain) -> Domain | Infeasible:
    """The domain with the changes of a chain as what its scenarios must contain; or the change that
    nobody asks for."""
    steps = [one.node for one in walk_nodes(sampled.nodes) if isinstance(one.node, ChainStep)]
    if beyond := [
        one.node
        for one in walk_nodes(sampled.nodes)
        if isinstance(one.node, Loop | Branch | Reason) and not _is_pick(one.node)
    ]:
        return Infeasible(
            node=beyond[0].id,
            reason="People ask for one thing after the other here, and for nothing that is worked "
            "out.",
        )
    tools, flows, led = {step.id: step.tool for step in steps}, list_flows(sampled), list[LedWish]()
    for step in steps:
        operation = domain.operations.get(step.tool)
        if operation is None or (
            operation.effect == "change" and not (operation.asks and operation.tells)
        ):
            return Infeasible(node=step.id, reason=f"Nobody would ask for {step.tool}.")
        if operation.effect == "change":
            ties = [
                (flow.argument, tools[flow.givers[0]], flow.source.path)
                for flow in flows
                if flow.step == step.id
                and isinstance(flow.source, FromNode)
                and flow.source.node in tools
            ]
            if new := [
                giver
                for _, giver, path in ties
                if path == "id" and _makes_row(domain.operations[giver])
            ]:
                return Infeasible(
                    node=step.id, reason=f"Nobody would ask for {step.tool} of what {new[0]} makes."
                )
            led.append(LedWish(step.tool, tuple(ties)))
    return replace(domain, led=tuple(led))


def _makes_row(operation: Operation) -> bool:
    return any("new(" in step.do for step in operation.then)


def _is_pick(node: Node) -> bool:
    return isinstance(node, Reason) and node.rule == "choose"


_NO_VALUE = "No value that is known there makes the call lead on to what the person wants."


@dataclass(frozen=True)
class _Path:
    """A path so far."""

    calls: tuple[Call, ...]
    replies: tuple[Any, ...]
    own: int
    """Calls of the author's own path that are done."""
    at: Mapping[str, int]
    """Step → its call."""
    world: DomainWorld

    @property
    def last(self) -> int:
        return max(self.at.values(), default=-1)


class _Search:
    """Look-ups are tried one after the other, each with values that were seen or said."""

    def __init__(
        self,
        reply: ScenarioReply,
        sampled: Chain,
        domain: Domain,
        steps: Sequence[ChainStep],
        places: Mapping[str, int],
    ) -> None:
        self._own, self._chain, self._domain, self._steps, self._places = (
            reply.oracle,
            sampled,
            domain,
            steps,
            places,
        )
        self._words = "\n".join([reply.request, reply.opening, *map(str, reply.facts.values())])
        self._nodes = {one.node.id: one.node for one in walk_nodes(sampled.nodes)}
        self._flows, self._left = list_flows(sampled), _BUDGET
        self._start = DomainWorld(domain, deepcopy(reply.initial_state), TODAY, "follow")
        self.stuck = steps[0].id if steps else ""
        self._furthest = -1

    def find(self) -> list[Call] | None:
        found = self._extend(0, _Path((), (), 0, {}, self._start))
        if found is None:
            return None
        calls, replies = self._shorten(found)
        made = {
            row
            for name, rows in found.world.state.items()
            for row in rows
            if row not in self._start.state[name]
        }
        return refer_to(made, calls, replies)  # what the path makes has another id in every session

    def _extend(self, place: int, path: _Path) -> _Path | None:
        if place > self._furthest and place < len(self._steps):
            self._furthest, self.stuck = place, self._steps[place].id
        if place == len(self._steps):
            whole = self._advance(path, len(self._own))
            return (
                whole
                if whole is not None and self._is_complete(whole.calls, whole.replies)
                else None
            )
        step = self._steps[place]
        if step.id in self._places:
            done = self._advance(path, self._places[step.id] + 1)
            return None if done is None else self._go_on(place, step, done, len(done.calls) - 1)
        ahead = [self._places[one.id] for one in self._steps[place:] if one.id in self._places]
        done = self._advance(
            path, self._find_change(path.own, ahead[0]) if ahead else len(self._own)
        )
        if done is None:
            return None
        for index in range(done.last + 1, len(done.calls)):
            if (
                done.calls[index].name == step.tool
                and (found := self._go_on(place, step, done, index)) is not None
            ):
                return found
        for call in self._list_calls(step, done):
            self._left -= 1
            if self._left < 0:
                return None
            made = self._make(done, call)
            if (
                made is not None
                and (found := self._go_on(place, step, made, len(made.calls) - 1)) is not None
            ):
                return found
        return None

    def _find_change(self, first: int, most: int) -> int:
        """Own look-ups are done up to the next change, so that what they show is known."""
        operations = self._domain.operations
        return next(
            (
                place
                for place in range(first, most)
                if operations[self._own[place].name].effect == "change"
            ),
            most,
        )

    def _go_on(self, place: int, step: ChainStep, path: _Path, index: int) -> _Path | None:
        now = _Path(path.calls, path.replies, path.own, {**path.at, step.id: index}, path.world)
        if index <= path.last or not all(
            self._holds(flow, now) for flow in self._flows if flow.step == step.id
        ):
            return None
        return (
            self._extend(place + 1, now)
            if all(self._leads_on(flow, now) for flow in self._flows if step.id in flow.givers)
            else None
        )

    def _holds(self, flow: Flow, path: _Path) -> bool:
        given = path.calls[path.at[flow.step]].arguments.get(flow.argument)
        return given in self._list_given(flow.source, path)

    def _leads_on(self, flow: Flow, path: _Path) -> bool:
        """Whether a change that takes from here finds its value."""
        if flow.step not in self._places or not set(flow.givers) <= path.at.keys():
            return True
        return self._own[self._places[flow.step]].arguments.get(flow.argument) in self._list_given(
            flow.source, path
        )

    def _list_given(self, source: Source, path: _Path) -> list[Json]:
        try:
            return list_values(
                source, self._nodes, {step: path.replies[index] for step, index in path.at.items()}
            )
        except (BuildError, LookupError):
            return []

    def _advance(self, path: _Path, until: int) -> _Path | None:
        for call in self._own[path.own : until]:
            made = self._make(path, call)
            if made is None:
                return None
            path = _Path(made.calls, made.replies, path.own + 1, made.at, made.world)
        return path

    def _make(self, path: _Path, call: Call) -> _Path | None:
        operation, world = self._domain.operations[call.name], path.world
        if not world.allows(operation, call.arguments):
            return None
        world = world if operation.effect == "query" else world.copy()
        try:
            answer = deepcopy(world.answer(operation, call.arguments))
        except ValueError:
            return None  # what some reports give is beyond the language of formulas
        return _Path((*path.calls, call), (*path.replies, answer), path.own, path.at, world)

    def _list_calls(self, step: ChainStep, path: _Path) -> Iterator[Call]:
        operation = self._domain.operations[step.tool]
        options = [
            self._list_options(each, step.arguments.get(each.name), path)
            for each in operation.takes
        ]
        for chosen in islice(product(*options), _WAYS):
            yield Call(
                name=step.tool,
                arguments=dict(zip((each.name for each in operation.takes), chosen, strict=True)),
            )

    def _list_options(
        self, parameter: OperationParameter, source: Source | None, path: _Path
    ) -> list[Json]:
        if isinstance(source, FromNode | FromItem):
            return self._list_given(source, path)
        if parameter.row:
            seen = {value for reply in path.replies for value in _list_texts(reply)}
            return [
                row
                for row in self._start.state[parameter.row]
                if row in seen and row in path.world.state[parameter.row]
            ]
        if parameter.one_of:
            return list(parameter.one_of)
        if not parameter.find:
            return []
        collection, attribute = parameter.find.split(".")
        return [
            row[attribute]
            for row in path.world.state[collection].values()
            if is_told(row[attribute], self._words)
        ]

    def _is_complete(self, calls: Sequence[Call], replies: Sequence[Any]) -> bool:
        return not match_chain(self._chain, calls, replies).missing

    def _shorten(self, path: _Path) -> tuple[list[Call], list[Any]]:
        """Calls and replies without look-ups that were made before and nothing has changed
        since."""
        calls, replies = list(path.calls), list(path.replies)
        for place in reversed(range(len(calls))):
            again = [
                one for one in range(len(calls)) if one != place and calls[one] == calls[place]
            ]
            if not again or _changes_between(
                calls, min(again[0], place), max(again[0], place), self._domain.operations
            ):
                continue
            fewer, told = calls[:place] + calls[place + 1 :], replies[:place] + replies[place + 1 :]
            if self._is_complete(fewer, told) and again[0] < place:
                calls, replies = fewer, told
        return calls, replies


def _changes_between(
    calls: Sequence[Call], first: int, last: int, operations: Mapping[str, Operation]
) -> bool:
    return any(operations[call.name].effect == "change" for call in calls[first : last + 1])


def _list_texts(value: Json) -> Iterator[str]:
    if is_object(value):
        for held in value.values():
            yield from _list_texts(held)
    elif is_array(value):
        for held in value:
            yield from _list_texts(held)
    elif isinstance(value, str):
        yield value
