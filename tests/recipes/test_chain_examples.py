"""The examples of chains in prompts are whole: they are carried out, the validator passes them, and
a path contains what it shows."""

import json
import re
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.start import CLOCK
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.rechecking import PlayedChain, hold
from envmill.recipes.drafting.weakening import find_weakening
from envmill.sandbox import Invoke, Program, Reset, Sandbox
from envmill.sandbox.results import link, settle
from envmill.toolgraph.chain_player import enact, read_reply
from envmill.toolgraph.overlap import list_flows, match_chain
from schemas.calls import read_call
from schemas.chain import Chain, Filling, FromNode, Infeasible, Reason
from schemas.environment import Call
from schemas.tool_prompts import ChainReply
from tests.toolgraph.parcels import STATE
from tests.toolgraph.test_arguments import PLACE

CHAINS = ("scaleenv/chain.md", "envfactory/topology.md", "autoforge/dag.md")
RESET = Reset(STATE, CLOCK, 0)


def read_example(name: str) -> dict[str, Any]:
    """What begins with a chain (a reply) or a sampled one."""
    text = Prompt.load(PROMPTS / name).text
    (place,) = (found.start() for found in re.finditer(r'\{"(?:chain|sampled)"', text))
    return json.JSONDecoder().raw_decode(text[place:])[0]


@pytest.mark.parametrize("name", CHAINS)
async def test_the_chain_of_a_prompt_is_carried_out(name: str, jail: Sandbox) -> None:
    example = read_example(name)
    chain, filling = (
        Chain.model_validate(example["chain"]),
        Filling.model_validate(example["filling"]),
    )
    done = await enact(chain, filling, Program.of(PLACE), RESET, jail)
    words = " ".join(
        str(value)
        for value in [*filling.said.values(), *(pick.equals for pick in filling.picks.values())]
    )
    await hold(chain, PLACE, PlayedChain(done.calls, done.replies, (STATE, done.state), words))
    assert match_chain(chain, done.calls, done.replies).missing == ()
    assert any(
        isinstance(value, list) for call in done.calls for value in call.arguments.values()
    ), "a list argument"
    assert any(flow.givers == ("s3",) for flow in list_flows(chain)), (
        "a record that the path makes is used"
    )
    assert any(isinstance(node, Reason) and node.rule == "choose" for node in chain.nodes)


async def test_a_value_that_is_only_told_is_no_fault_of_a_chain_that_was_carried_out(
    jail: Sandbox,
) -> None:
    """A count for the last words is used by no call. A thought of nothing stays a fault, and
    dropping the count weakens nothing."""
    example = read_example(CHAINS[0])
    chain, filling = (
        Chain.model_validate(example["chain"]),
        Filling.model_validate(example["filling"]),
    )
    listed = next(
        source
        for node in chain.nodes
        if isinstance(node, Reason)
        for source in node.takes
        if isinstance(source, FromNode)
    )
    counted = chain.model_copy(
        update={"nodes": [*chain.nodes, Reason(id="told", rule="count", takes=[listed])]}
    )
    done = await enact(counted, filling, Program.of(PLACE), RESET, jail)
    words = " ".join(
        str(value)
        for value in [*filling.said.values(), *(pick.equals for pick in filling.picks.values())]
    )
    await hold(counted, PLACE, PlayedChain(done.calls, done.replies, (STATE, done.state), words))
    unfed = chain.model_copy(
        update={"nodes": [*chain.nodes, Reason(id="told", rule="total", takes=[])]}
    )
    with pytest.raises(BuildError, match="unfed"):
        await hold(unfed, PLACE, PlayedChain(done.calls, done.replies, (STATE, done.state), words))
    longer, shorter = (
        ChainReply(initial_state={}, request="", oracle=[], chain=one, filling=filling)
        for one in (counted, chain)
    )
    assert find_weakening(longer, shorter, ()) == []
    fewer = chain.model_copy(update={"nodes": chain.nodes[:1]})
    assert find_weakening(longer, shorter.model_copy(update={"chain": fewer}), ()) != []


async def test_the_path_of_the_walk_prompt_contains_its_chain(jail: Sandbox) -> None:
    example = read_example("agentscaler/walk.md")
    chain, calls = (
        Chain.model_validate(example["sampled"]),
        [Call.model_validate(read_call(call)) for call in example["oracle"]],
    )
    linked, bad = link(calls, PLACE.tools)
    _, *seen = await jail.play(Program.of(PLACE), [RESET, *map(Invoke, linked)])
    assert (bad, {one.outcome for one in seen}) == ([], {"ok"})
    match = match_chain(chain, settle(linked, seen), [read_reply(one) for one in seen])
    assert match.missing == ()
    assert [flow.argument for flow in list_flows(chain) if "s3" in flow.givers] == ["parcel_id"]


@pytest.mark.parametrize("name", [*CHAINS, "agentscaler/walk.md"])
def test_the_prompt_shows_how_to_say_that_a_chain_is_infeasible(name: str) -> None:
    (shown,) = re.findall(r'`\{"infeasible": (\{.*?\})\}`', Prompt.load(PROMPTS / name).text)
    assert Infeasible.model_validate_json(shown).node
