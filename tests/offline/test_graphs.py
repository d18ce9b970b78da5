"""Graphs of the embedded author in its worlds: what is needed of each is what it says, and who
ignores a mechanism is sent back."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Container, Iterator
from itertools import product
from typing import Any, cast

import pytest

import offline as author
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.dag import NO_REASONING, list_dag_complaints
from envmill.sandbox import Program, Reset, Sandbox
from envmill.toolgraph.chain_player import enact
from offline.compose import compose_domain
from offline.graphs import list_shortcuts, take_shortcuts
from schemas.base import Json
from schemas.chain import ChainStep, FromNode, Pick, Reason
from schemas.environment import Environment
from schemas.run import RunConfig
from schemas.tool_prompts import DagReply
from tests.offline.questions import SEED, THEMES, compose
from tests.offline.worlds import make_world
from tests.recipes.test_agentscaler import grow
from tests.soak import count

WANTED, EVERY = count(10, 300), count(1, 5)
"""Graphs that are judged, and which of them are spoilt."""
CHECKS = RunConfig().dag


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
async def test_no_honest_graph_is_refused_and_who_ignores_a_mechanism_is_sent_back(
    jail: Sandbox,
) -> None:
    """A graph of look-ups by a name, each of one row, works nothing out: that is said of it, and
    nothing else."""
    found, chance = Counter[str](), random.Random(28)
    async for world, reply in list_graphs():
        if found["tried"] == WANTED:
            break
        found["tried"] += 1
        codes = await judge(world, reply, jail)
        found["nothing worked out"] += NO_REASONING in codes
        found["refused"] += bool(codes - {NO_REASONING})
        if found["tried"] % EVERY:
            continue
        kind, spoilt, code = spoil(reply, chance)
        found["spoilt"] += 1
        found["caught"] += code in await judge(world, spoilt, jail)
        found[kind] += 1
    assert (found["tried"], found["refused"]) == (WANTED, 0), found
    assert found["spoilt"] == WANTED // EVERY
    assert found["caught"] >= found["spoilt"] - found["spoilt"] // 20, found
    assert all(found[kind] for kind in ("twin", "claim", "row left out", "row too many")), found


async def list_graphs() -> AsyncIterator[tuple[Environment, DagReply]]:
    for place, theme in enumerate(sorted(THEMES) * 4):
        world = make_world(compose(theme, place))
        tools = [tool.model_dump(mode="json") for tool in world.tools]
        for number in range(2):
            told = {
                "brief": {"theme": theme, "text": THEMES[theme], "number": place}, "name": "", "rules": [], "source": "", "tools": tools,
                "number": number, "polarity": "achieve", "results": True,
            }  # fmt: skip
            reply = DagReply.model_validate_json(
                author.answer("dag", cast(Any, told), SEED, 0, 0.0)
            )
            if reply.chain.nodes:
                yield world, reply


async def judge(world: Environment, reply: DagReply, jail: Sandbox) -> set[str]:
    reset = Reset(reply.initial_state, CLOCK, 0)
    done = await enact(reply.chain, reply.filling, Program.of(world), reset, jail)
    return {one.code for one in await list_dag_complaints(reply, done, CHECKS, world, reset, jail)}


def spoil(reply: DagReply, chance: random.Random) -> tuple[str, DagReply, str]:
    """What is done to it, the reply, and the code that it deserves."""
    ways = [_add_twin, _claim_other, _leave_row_out, _name_row_too_many]
    chance.shuffle(ways)
    return next(found for way in ways if (found := way(reply, chance)) is not None)


def _add_twin(reply: DagReply, chance: random.Random) -> tuple[str, DagReply, str] | None:
    """A look-up that another node rests on is made once more, before all others."""
    text = reply.chain.model_dump_json()
    looked = [
        one
        for one in reply.chain.nodes
        if isinstance(one, ChainStep) and one.tool.startswith(("list", "find"))
    ]
    rested = [one for one in looked if f'"node":"{one.id}"' in text]
    free = [
        one for one in rested if all(source.kind == "user" for source in one.arguments.values())
    ]
    if not free:
        return None
    first = chance.choice(free)
    said = {
        name.replace(first.id, "s0", 1): value
        for name, value in reply.filling.said.items()
        if name.startswith(f"{first.id}.")
    }
    filling = reply.filling.model_copy(update={"said": reply.filling.said | said})
    chain = reply.chain.model_copy(
        update={"nodes": [first.model_copy(update={"id": "s0"}), *reply.chain.nodes]}
    )
    return "twin", reply.model_copy(update={"chain": chain, "filling": filling}), "node_not_needed"


def _claim_other(reply: DagReply, chance: random.Random) -> tuple[str, DagReply, str] | None:
    """A choice gives another row than its author says, or its author says nothing."""
    if not reply.claims:
        return None
    name = chance.choice(sorted(reply.claims))
    others = {one: value for one, value in reply.claims.items() if one != name}
    claims = others | chance.choice([{}, {name: "another_row"}])
    return "claim", reply.model_copy(update={"claims": claims}), "claim_differs"


def _leave_row_out(reply: DagReply, chance: random.Random) -> tuple[str, DagReply, str] | None:
    places = [(table, key) for table, keys in reply.needed.items() for key in keys]
    if not places:
        return None
    table, key = chance.choice(places)
    needed = reply.needed | {table: [one for one in reply.needed[table] if one != key]}
    return "row left out", reply.model_copy(update={"needed": needed}), "row_missing"


def _name_row_too_many(reply: DagReply, chance: random.Random) -> tuple[str, DagReply, str] | None:
    """A distractor is named that refers to no row, or to needed ones alone."""
    named = {key for keys in reply.needed.values() for key in keys}
    keys = {key for rows in reply.initial_state.values() for key in rows}
    free = [
        (table, key)
        for table, rows in reply.initial_state.items()
        for key, row in rows.items()
        if key not in named
        and not any(
            isinstance(value, str) and value in keys - named - {key} for value in row.values()
        )
    ]
    if not free:
        return None
    table, key = chance.choice(free)
    needed = reply.needed | {table: [*reply.needed.get(table, []), key]}
    return "row too many", reply.model_copy(update={"needed": needed}), "row_not_needed"


@pytest.mark.long
async def test_a_record_that_an_earlier_list_names_is_chosen_there() -> None:
    """A graph that goes to it through a row that refers to it is told without the way round, and
    needs the same rows."""
    tried = 0
    for seed, number in product((await grow())[1], range(12)):
        brief = seed.brief.model_copy(update={"number": number})
        told = {
            "brief": brief.model_dump(mode="json"), "name": "", "rules": [], "source": "", "tools": [],
            "number": number, "polarity": "achieve", "results": True,
        }  # fmt: skip
        reply, domain = (
            DagReply.model_validate_json(author.answer("dag", cast(Any, told), SEED, 0, 0.0)),
            compose_domain(brief, SEED),
        )
        if detour := _add_detour(reply, domain.operations):
            assert list_shortcuts(detour, domain)
            straight = take_shortcuts(detour, domain)
            assert not list_shortcuts(straight, domain)
            assert straight.needed == reply.needed
            tried += 1
    assert tried >= 3


def _add_detour(reply: DagReply, tools: Container[str]) -> DagReply | None:
    """What is chosen by its name is chosen by the name of a row that refers to it, out of a list of
    these rows."""
    for node in reply.chain.nodes:
        if not (
            isinstance(node, Reason)
            and node.id in reply.claims
            and [getattr(one, "path", "") for one in node.takes] == ["[].id"]
        ):
            continue
        for table, row, name in _list_referring(reply, reply.claims[node.id]):
            if f"list_{table}" in tools:
                first = ChainStep(id="s0", tool=f"list_{table}", arguments={})
                other = node.model_copy(update={"takes": [FromNode(node="s0", path=f"[].{name}")]})
                nodes = [
                    part
                    for one in reply.chain.nodes
                    for part in ([first, other] if one is node else [one])
                ]
                picks = reply.filling.picks | {node.id: Pick(path="[].name", equals=row["name"])}
                filling = reply.filling.model_copy(update={"picks": picks})
                return reply.model_copy(
                    update={
                        "chain": reply.chain.model_copy(update={"nodes": nodes}),
                        "filling": filling,
                    }
                )
    return None


def _list_referring(reply: DagReply, key: Json) -> Iterator[tuple[str, dict[str, Json], str]]:
    for table, rows in reply.initial_state.items():
        for row in rows.values():
            yield from (
                (table, row, name)
                for name, value in row.items()
                if name != "id" and value == key and "name" in row
            )
