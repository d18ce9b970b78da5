"""Chains offered to the embedded author in its worlds: what follows one is never refused, and what
leaves it is sent back."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

import offline as author
from envmill.recipes.drafting.offered import LEFT, OfferedChain
from envmill.runtime.results import is_reference
from envmill.sandbox import Sandbox
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import execute
from envmill.toolgraph.offers import find_offers
from envmill.toolgraph.overlap import Flow, list_flows
from envmill.toolgraph.references import list_tools, walk_nodes
from schemas.chain import ChainStep
from schemas.document_prompts import WalkReply
from schemas.environment import Call, Environment
from schemas.prompts import ScenarioReply
from tests.offline.questions import SEED, THEMES, compose
from tests.offline.worlds import make_tests, make_world
from tests.soak import count
from tests.stages.test_offering import Script, keep_to, make_context
from tests.stages.test_posing import Nobody

SAMPLERS = ("weighted", "backward", "program", "linked")
WANTED, EVERY = count(12, 300), count(2, 5)
"""Chains that are followed, and which of them are left once more."""


@pytest.mark.soak(area="mechanisms")
async def test_who_follows_a_chain_is_never_refused_and_who_leaves_it_is_sent_back(
    sandbox: Sandbox,
) -> None:
    """Some leave it in one way of three. Where the path still contains the chain, as it calls a
    tool twice or has the value from
    the same reply, nothing was left."""
    found, chance = Counter[str](), random.Random(24)
    async for slot, reply in list_followed(sandbox):
        if found["tried"] == WANTED:
            break
        found["tried"] += 1
        context = make_context(sandbox, Script(keep_to))
        posed = await execute(reply, slot, context, cast(Any, Nobody()))
        found["refused"] += posed.draft is None
        if found["tried"] % EVERY:
            continue
        strayed = leave(slot, reply, chance)
        if strayed is None:
            found["nothing to leave"] += 1
            continue
        found["left"] += 1
        again = await execute(strayed, slot, context, cast(Any, Nobody()))
        found["caught"] += again.draft is None
        found["as left"] += any(complaint.code == LEFT for complaint in again.complaints)
    assert (found["tried"], found["refused"]) == (WANTED, 0), found
    assert found["left"] >= WANTED // 10, found
    assert found["caught"] >= found["left"] - found["left"] // 20, found


async def list_followed(sandbox: Sandbox) -> AsyncIterator[tuple[ScenarioSlot, ScenarioReply]]:
    """Offered chains, and the scenarios that the embedded author writes along them, unless it calls
    them infeasible."""
    for place, theme in enumerate(sorted(THEMES) * 4):
        world = make_world(compose(theme, place))
        offers = await find_offers(
            world, make_tests(theme, place, world), {}, SAMPLERS, sandbox, results=True, sharing=8
        )
        for number, drawn in enumerate(offers.chains):
            offered = OfferedChain(drawn.chain, True, drawn.calls, frozenset(drawn.steps))
            slot = ScenarioSlot(world, number, offered=offered)
            told = {
                "brief": {"theme": theme, "text": THEMES[theme], "number": place}, "name": "", "rules": [], "source": "",
                "tools": [tool.model_dump(mode="json") for tool in world.tools], "number": number, "polarity": "achieve", "results": True,
                "sampled": drawn.chain.model_dump(mode="json"), "binding": True, "carried_out": [call.model_dump() for call in drawn.calls],
            }  # fmt: skip
            reply = WalkReply.model_validate_json(
                author.answer("walk", cast(Any, told), SEED, 0, 0.0)
            )
            if reply.infeasible is None and reply.oracle:
                yield slot, reply


def leave(slot: ScenarioSlot, reply: ScenarioReply, chance: random.Random) -> ScenarioReply | None:
    """The reply without a step of the chain, with a step before the one that it takes a value from,
    or with a value from elsewhere."""
    assert slot.offered is not None
    chain = slot.offered.chain
    tools = {
        one.node.id: one.node.tool
        for one in walk_nodes(chain.nodes)
        if isinstance(one.node, ChainStep)
    }
    flows, kinds = list_flows(chain), ["left_out", "swapped", "elsewhere"]
    chance.shuffle(kinds)
    for kind in kinds:
        if kind == "left_out":
            tool = chance.choice(list_tools(chain))
            return _renumber(
                reply, [place for place, call in enumerate(reply.oracle) if call.name != tool]
            )
        flow = chance.choice(flows) if flows else None
        if flow is None:
            continue
        taker, giver = tools[flow.step], tools[flow.givers[0]]
        if kind == "swapped":
            return _swap(reply, taker, giver)
        if (changed := _take_elsewhere(reply, taker, flow, slot.environment)) is not None:
            return changed
    return None


def _swap(reply: ScenarioReply, taker: str, giver: str) -> ScenarioReply:
    """Every call of the taker before the first one of the giver."""
    places = [place for place, call in enumerate(reply.oracle) if call.name == taker]
    first = min((place for place, call in enumerate(reply.oracle) if call.name == giver), default=0)
    others = [place for place in range(len(reply.oracle)) if place not in places]
    return _renumber(
        reply,
        [
            *(one for one in others if one < first),
            *places,
            *(one for one in others if one >= first),
        ],
    )


def _renumber(reply: ScenarioReply, places: list[int]) -> ScenarioReply:
    """These calls of its path, in this order; references follow the calls that they name."""
    now = {old + 1: new for new, old in enumerate(places, 1)}

    def follow(value: Any) -> Any:
        if is_reference(value):
            return value | {"from": now.get(value["from"], 0)}
        return (
            {name: follow(part) for name, part in value.items()}
            if isinstance(value, dict)
            else value
        )

    calls = [reply.oracle[place] for place in places]
    moved = [call.model_copy(update={"arguments": follow(call.arguments)}) for call in calls]
    return reply.model_copy(update={"oracle": moved})


def _take_elsewhere(
    reply: ScenarioReply, taker: str, flow: Flow, environment: Environment
) -> ScenarioReply | None:
    """The argument has the key of another record of the same table."""
    calls = list[Call](reply.oracle)
    for place, call in enumerate(calls):
        value = call.arguments.get(flow.argument)
        for rows in reply.initial_state.values():
            others = (
                [key for key in rows if key != value]
                if call.name == taker and isinstance(value, str) and value in rows
                else []
            )
            if others:
                calls[place] = call.model_copy(
                    update={"arguments": call.arguments | {flow.argument: others[0]}}
                )
                return reply.model_copy(update={"oracle": calls})
    return None
