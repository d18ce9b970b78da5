"""A chain as a graph: look-ups that are made once, what its reasoning gives, and the rows that it
cannot do without.

chain ─► without twins ─► carried out by the domain model ─► what each choice gives
                                 ▲                      └──► the same without a row? then it is a distractor
                                 └─────── rows left out ─────┘
"""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from envmill.base.errors import BuildError
from envmill.kinds.endings import list_keys
from envmill.recipes.drafting.derivability import Shortcut, find_shortcuts
from envmill.recipes.drafting.exactness import MADE, blank_made
from envmill.recipes.drafting.rechecking import find_keys, list_words
from envmill.toolgraph.chain_player import Enacted, read_path
from envmill.toolgraph.references import list_references, walk_nodes
from envmill.verifiers.diff import diff_states
from offline.chaining import spread_samples
from offline.database import list_policies
from offline.domain import TODAY, Domain
from offline.world import DomainWorld
from schemas.base import Contract, Json, canonical_json
from schemas.chain import (
    Chain,
    ChainStep,
    FromNode,
    FromRecord,
    Infeasible,
    Node,
    Pick,
    Reason,
    Source,
)
from schemas.environment import Call
from schemas.tool_prompts import ChainReply, DagInput, DagReply


def write_graph(
    write: Callable[[Json, Domain, int, int], Contract],
    inputs: Json,
    domain: Domain,
    seed: int,
    sample: int,
) -> DagReply:
    """What `write` answers to the same inputs, as a graph in which every node is needed: the first
    of a few samples that is one.

    Where none is, a chain that binds is given back."""
    asked, first = DagInput.model_validate(inputs), None
    for each in spread_samples(sample):
        reply = _write_once(write, inputs, domain, seed, each)
        first = first or reply
        if reply.infeasible or not list_shortcuts(reply, domain):
            return reply
    assert first is not None
    return _give_back(asked) if asked.binding else take_shortcuts(first, domain)


def _write_once(
    write: Callable[[Json, Domain, int, int], Contract],
    inputs: Json,
    domain: Domain,
    seed: int,
    sample: int,
) -> DagReply:
    """A look-up that was made is not made again, also where a chain asks for it."""
    asked = DagInput.model_validate(inputs)
    merged = merge_twins(
        ChainReply.model_validate(write(inputs, domain, seed, sample).model_dump()), domain
    )
    gone = asked.binding and merged.infeasible is None and not follows(merged, _list_tools(asked))
    return _give_back(asked) if gone else describe_graph(merged, domain)


def _give_back(asked: DagInput) -> DagReply:
    said = Infeasible(
        node=_list_steps(asked)[-1].id, reason="What it looks up stands in an earlier reply."
    )
    return DagReply(
        initial_state={}, request="", chain=Chain(sampler="author", nodes=[]), infeasible=said
    )


def _list_tools(asked: DagInput) -> list[str]:
    return [step.tool for step in _list_steps(asked)]


def _list_steps(asked: DagInput) -> list[ChainStep]:
    return [
        one.node
        for one in walk_nodes(asked.sampled.nodes if asked.sampled else [])
        if isinstance(one.node, ChainStep)
    ]


def merge_twins(reply: ChainReply, domain: Domain) -> ChainReply:
    """The reply without its twins. What stands between two of them changes nothing that they show,
    or they would not be twins."""
    kept, known, now = list[Node](), dict[str, str](), dict[str, str]()
    filling = reply.filling
    for node in reply.chain.nodes:
        if isinstance(node, ChainStep):
            node = node.model_copy(
                update={
                    "arguments": {name: _follow(one, now) for name, one in node.arguments.items()}
                }
            )
            said = {
                name.partition(".")[2]: value
                for name, value in filling.said.items()
                if name.startswith(f"{node.id}.")
            }
            is_query = domain.operations[node.tool].effect == "query"
            twin = (
                canonical_json([node.tool, node.model_dump()["arguments"], said])
                if is_query
                else ""
            )
        elif isinstance(node, Reason):
            node = node.model_copy(update={"takes": [_follow(one, now) for one in node.takes]})
            pick = filling.picks.get(node.id)
            twin = canonical_json(
                [node.rule, node.model_dump()["takes"], pick.model_dump() if pick else None]
            )
        else:
            twin = ""
        if twin and twin in known:
            now[node.id] = known[twin]
            continue
        known[twin] = node.id
        kept.append(node)
    gone = now.keys()
    told = {
        name: value for name, value in filling.said.items() if name.partition(".")[0] not in gone
    }
    picks = {name: pick for name, pick in filling.picks.items() if name not in gone}
    chain = reply.chain.model_copy(update={"nodes": kept})
    return reply.model_copy(
        update={
            "chain": chain,
            "filling": filling.model_copy(update={"said": told, "picks": picks}),
        }
    )


def follows(reply: ChainReply, tools: Sequence[str]) -> bool:
    """Whether its calls hold these, in this order."""
    made = iter([node.tool for node in reply.chain.nodes if isinstance(node, ChainStep)])
    return all(tool in made for tool in tools)


@dataclass(frozen=True)
class _Played:
    """What a chain comes to on some state, without ids of rows that it makes."""

    calls: list[str]
    gave: dict[str, Json]
    changes: list[str]
    enacted: Enacted = field(compare=False)


def describe_graph(reply: ChainReply, domain: Domain) -> DagReply:
    """With what its reasoning gives, and the rows that it needs."""
    whole, told = (
        None if reply.infeasible else _play(reply, domain, reply.initial_state),
        reply.model_dump(),
    )
    if whole is None:
        return DagReply.model_validate(told)
    claims = {name: value for name, value in whole.gave.items() if value != MADE}
    needed = _find_needed(reply, domain, whole) if reply.polarity == "achieve" else {}
    return DagReply.model_validate(told | {"claims": claims, "needed": needed})


def list_shortcuts(reply: DagReply, domain: Domain) -> list[Shortcut]:
    """Nodes that give what stands elsewhere."""
    played = _play(reply, domain, reply.initial_state)
    if played is None:
        return []
    keys = find_keys((reply.initial_state, played.enacted.state))
    return find_shortcuts(reply.chain, reply.filling, played.enacted, list_words(reply), keys)


def take_shortcuts(reply: DagReply, domain: Domain) -> DagReply:
    """The reply once more: a record that an earlier list shows by its name is chosen there. What
    nobody looks at then is not looked up."""
    nodes, picks = {one.id: one for one in reply.chain.nodes}, dict(reply.filling.picks)
    places, names = (
        {name: place for place, name in enumerate(nodes)},
        _list_names(reply.initial_state),
    )
    for one in list_shortcuts(reply, domain):
        told, taker = _LISTED.fullmatch(one.found), nodes[one.taker]
        if (
            told
            and isinstance(taker, Reason)
            and one.value in names
            and places[told[1]] < places[one.taker]
        ):
            nodes[one.taker] = taker.model_copy(
                update={"takes": [FromNode(node=told[1], path="[].id")]}
            )
            picks[one.taker] = Pick(path="[].name", equals=names[one.value])
    used = {name for node in nodes.values() for name in list_references(node)}
    kept = [one for one in nodes.values() if not _is_query(one, domain) or one.id in used]
    chain, filling = (
        reply.chain.model_copy(update={"nodes": kept}),
        reply.filling.model_copy(update={"picks": picks}),
    )
    told = reply.model_copy(update={"chain": chain, "filling": filling})
    return describe_graph(
        merge_twins(
            ChainReply.model_validate(told.model_dump(include={*ChainReply.model_fields})), domain
        ),
        domain,
    )


_LISTED = re.compile(r"the reply to (\w+) at `\[\]\.id`")


def _list_names(state: Json) -> dict[Json, Json]:
    """Key of a record → its name."""
    return {
        row["id"]: row["name"]
        for rows in state.values()
        for row in rows.values()
        if {"id", "name"} <= row.keys()
    }


def _is_query(node: Node, domain: Domain) -> bool:
    return isinstance(node, ChainStep) and domain.operations[node.tool].effect == "query"


def _find_needed(reply: ChainReply, domain: Domain, whole: _Played) -> dict[str, list[str]]:
    """Rows are left out one after the other where nothing changes for it. Those that others refer
    to come after these."""
    state = {table: dict(rows) for table, rows in reply.initial_state.items()}
    keys, again = list_keys(state), True
    while again:
        again = False
        for table, key in [(table, key) for table, rows in state.items() for key in rows]:
            fewer = state | {table: {one: row for one, row in state[table].items() if one != key}}
            if not _has_dangling(fewer, keys) and _play(reply, domain, fewer) == whole:
                state, again = fewer, True
    return {table: list(rows) for table, rows in state.items() if rows}


def _has_dangling(state: Json, keys: set[str]) -> bool:
    """Whether a row names one that was left out."""
    gone = keys - list_keys(state)
    return any(
        isinstance(value, str) and value in gone
        for rows in state.values()
        for row in rows.values()
        for value in row.values()
    )


def _play(reply: ChainReply, domain: Domain, state: Json) -> _Played | None:
    """None where a call is refused, or a choice finds nothing."""
    world = DomainWorld(domain, deepcopy(state), TODAY, "chain")
    known, calls, gave = dict[str, Any](), list[tuple[str, Call]](), dict[str, Json]()
    for node in reply.chain.nodes:
        try:
            if isinstance(node, ChainStep):
                operation = domain.operations[node.tool]
                arguments = {
                    name: _read(reply, state, known, f"{node.id}.{name}", one)
                    for name, one in node.arguments.items()
                }
                if not world.allows(operation, arguments):
                    return None
                calls.append((node.id, Call(name=node.tool, arguments=arguments)))
                known[node.id] = deepcopy(world.answer(operation, arguments))
            elif isinstance(node, Reason):
                known[node.id] = gave[node.id] = _choose(reply, known, node)
        except (BuildError, LookupError, ValueError):
            return None
    made = list_keys(world.state) - list_keys(state)
    exempt = {name for name, policy in list_policies(domain).items() if policy == "exempt"}
    changes = [
        canonical_json(blank_made([*change.path, change.after], made))
        for change in diff_states(state, world.state)
        if f"{change.path[0]}.{change.path[-1]}" not in exempt
    ]
    steps, made_calls = [step for step, _ in calls], [call for _, call in calls]
    replies = [known[step] for step in steps]
    enacted = Enacted(
        made_calls, steps, replies, world.state, {name: [value] for name, value in gave.items()}
    )
    rendered = [
        canonical_json(blank_made([call.name, call.arguments], made)) for call in made_calls
    ]
    return _Played(
        rendered,
        {name: blank_made(value, made) for name, value in gave.items()},
        sorted(changes),
        enacted,
    )


def _read(
    reply: ChainReply, state: Json, known: Mapping[str, Any], place: str, source: Source
) -> Json:
    if isinstance(source, FromNode):
        return read_path(known[source.node], source.path)
    if isinstance(source, FromRecord):
        return state[source.table][reply.filling.records[source.table]][source.column]
    return reply.filling.said[place]


def _choose(reply: ChainReply, known: Mapping[str, Any], reason: Reason) -> Json:
    (source,) = [one for one in reason.takes if isinstance(one, FromNode)]
    values, pick = read_path(known[source.node], source.path), reply.filling.picks.get(reason.id)
    return values[read_path(known[source.node], pick.path).index(pick.equals) if pick else 0]


def _follow(source: Source, now: Mapping[str, str]) -> Source:
    return (
        source.model_copy(update={"node": now.get(source.node, source.node)})
        if isinstance(source, FromNode)
        else source
    )
