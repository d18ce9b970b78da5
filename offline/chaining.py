"""A reference path told as a chain: of each argument, which earlier reply it stands in, and what
picks it out there.

calls ──answered by the domain model──► replies ──each key looked for──► from a node, chosen by another column · from a record · said
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from envmill.language.mentions import is_told
from envmill.sandbox.results import link, settle_one
from offline.domain import TODAY, Domain, Operation
from offline.world import DomainWorld
from schemas.base import Json, is_array, is_object
from schemas.chain import (
    Chain,
    ChainStep,
    Filling,
    FromNode,
    FromRecord,
    FromUser,
    Node,
    Pick,
    Reason,
    Source,
)
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.tool_prompts import ChainReply

TRIES = 6
_APART = 1000
"""Between two samples: asking once more for the same takes the next number."""


def write_chain(reply: ScenarioReply, domain: Domain) -> ChainReply:
    """The calls of a scenario, each argument with where it comes from."""
    writer = ChainWriter(
        domain, DomainWorld(domain, deepcopy(reply.initial_state), TODAY, "chain"), reply.request
    )
    for call in link(reply.oracle, [])[0]:
        writer.add(call)
    chain = Chain(sampler="author", nodes=writer.nodes)
    return ChainReply.model_validate(
        reply.model_dump() | {"oracle": [], "chain": chain, "filling": writer.filling}
    )


def spread_samples(sample: int) -> range:
    """Samples under which a scenario is thought of again where the first is not of one piece."""
    return range(sample, sample + TRIES * _APART, _APART)


def find_whole(tried: Iterable[ChainReply], tools: Sequence[Json]) -> ChainReply:
    """The first whose steps are all tied to each other, by a value or a table; else the last."""
    touched, last = list_touched(tools), None
    for last in tried:
        if is_whole(last, touched):
            break
    assert last is not None
    return last


def list_touched(tools: Sequence[Json]) -> dict[str, set[str]]:
    """Tool → tables that it may touch."""
    return {tool["name"]: {*tool.get("reads", ()), *tool.get("writes", ())} for tool in tools}


def is_whole(reply: ChainReply, touched: Mapping[str, set[str]]) -> bool:
    """Whether every step is tied to the others, by a value or a table."""
    groups = list[set[str]]()
    for node in reply.chain.nodes:
        marks = {node.id, *(one.node for one in _list_sources(node) if isinstance(one, FromNode))}
        marks |= (
            {f"table {one}" for one in touched.get(node.tool, ())}
            if isinstance(node, ChainStep)
            else set[str]()
        )
        met = [group for group in groups if group & marks]
        groups = [group for group in groups if not group & marks] + [marks.union(*met)]
    return len(groups) <= 1


class ChainWriter:
    """Nodes so far, and what was answered."""

    def __init__(self, domain: Domain, world: DomainWorld, words: str) -> None:
        self._domain, self._world, self._words = domain, world, words
        self.nodes: list[Node] = []
        self.filling = Filling()
        self._seen: list[tuple[str, Any]] = []
        self._chosen: dict[Any, Source] = {}
        self._results: dict[int, Any] = {}

    def add(self, call: Call) -> None:
        operation, made = self._domain.operations[call.name], settle_one(call, self._results)[0]
        name = f"s{len(self._seen) + 1}"
        rows = {each.name: each.row for each in operation.takes if each.row}
        used = {
            use.into[1:]: FromNode(node=f"s{use.call}", path=use.path[1:].replace("/", "."))
            for use in call.uses
        }
        arguments = {
            path: used.get(path) or self._find(f"{name}.{path}", value, rows.get(path, ""))
            for path, value in made.arguments.items()
        }
        self.nodes.append(ChainStep(id=name, tool=call.name, arguments=arguments))
        answer = self._answer(operation, made)
        self._seen.append((name, answer))
        self._results[call.label] = answer

    def _answer(self, operation: Operation, call: Call) -> Any:
        if self._world.allows(operation, call.arguments):
            return deepcopy(self._world.answer(operation, call.arguments))
        return None

    def _find(self, place: str, value: Any, table: str) -> Source:
        if table and (found := self._chosen.get(value) or self._find_seen(value)):
            return found
        if (
            self._domain.servers
            and isinstance(value, str)
            and not is_told(value, self._words)
            and (told := self._find_seen(value))
        ):
            return told  # what one server replied is what the next one is asked about
        if table and self.filling.records.setdefault(table, value) == value:
            return FromRecord(table=table, column="id")
        self.filling.said[place] = value
        return FromUser()

    def _find_seen(self, value: Any) -> Source | None:
        for step, reply in reversed(self._seen):
            for path, held in _list_leaves(reply):
                if held == value:
                    return FromNode(node=step, path=path)
            for path, items in _list_lists(reply):
                for column in (
                    name for name in items[0] if any(item[name] == value for item in items)
                ):
                    if chosen := self.choose(step, path, items, column, value):
                        return chosen
        return None

    def choose(
        self, step: str, path: str, items: list[dict[str, Any]], column: str, value: Any
    ) -> Source | None:
        """By the first other column that holds its value once. Where none does, by one whose first
        row it is, which is a guess: another
        program may list rows in another order."""
        wanted = next(item for item in items if item[column] == value)
        others = [name for name in wanted if name != column and not name.endswith("id")]
        shared = {name: [item for item in items if item[name] == wanted[name]] for name in others}
        for name in sorted(others, key=lambda name: len(shared[name]) > 1):
            if shared[name][0] is wanted:
                reason = Reason(
                    id=f"r{len(self._chosen) + 1}",
                    rule="choose",
                    takes=[FromNode(node=step, path=f"{path}.{column}")],
                )
                self.nodes.append(reason)
                self.filling.picks[reason.id] = Pick(path=f"{path}.{name}", equals=wanted[name])
                self._chosen[value] = FromNode(node=reason.id)
                return self._chosen[value]
        return None


def _list_leaves(reply: Json) -> Iterator[tuple[str, str]]:
    if is_object(reply):
        yield from ((name, value) for name, value in reply.items() if isinstance(value, str))


def _list_lists(reply: Json) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Lists of rows that it is, or holds."""
    found: dict[str, Json] = (
        {f"{name}[]": held for name, held in reply.items()} if is_object(reply) else {"[]": reply}
    )
    for path, held in found.items():
        rows = [item for item in held if is_object(item)] if is_array(held) else []
        if rows and is_array(held) and len(rows) == len(held):
            yield path, rows


def _list_sources(node: Node) -> list[Source]:
    return (
        list(node.arguments.values())
        if isinstance(node, ChainStep)
        else node.takes
        if isinstance(node, Reason)
        else []
    )
