"""The examples of chains in prompts are whole: they are carried out, the validator passes them, and a path contains what it shows."""

import json
import re
from typing import Any

import pytest

from envmill.kinds.start import CLOCK
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.rechecking import PlayedChain, hold
from envmill.sandbox import Invoke, Program, Reset, Sandbox
from envmill.toolgraph.chain_player import enact, read_reply
from envmill.toolgraph.overlap import list_flows, match_chain
from schemas.chain import Chain, Filling, Infeasible, Reason
from schemas.environment import Call
from tests.toolgraph.parcels import STATE
from tests.toolgraph.test_arguments import PLACE

CHAINS = ("scaleenv/chain.md", "envfactory/topology.md")
RESET = Reset(STATE, CLOCK, 0)


def read_example(name: str) -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)\n```", (PROMPTS / name).read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(block)


@pytest.mark.parametrize("name", CHAINS)
async def test_the_chain_of_a_prompt_is_carried_out(name: str, jail: Sandbox) -> None:
    example = read_example(name)
    chain, filling = Chain.model_validate(example["chain"]), Filling.model_validate(example["filling"])
    done = await enact(chain, filling, Program.of(PLACE), RESET, jail)
    words = " ".join(str(value) for value in [*filling.said.values(), *(pick.equals for pick in filling.picks.values())])
    await hold(chain, PLACE, PlayedChain(done.calls, done.replies, (STATE, done.state), words))
    assert match_chain(chain, done.calls, done.replies).missing == ()
    assert any(isinstance(value, list) for call in done.calls for value in call.arguments.values()), "a list argument"
    assert any(isinstance(node, Reason) and node.rule == "choose" for node in chain.nodes)


async def test_the_path_of_the_walk_prompt_contains_its_chain(jail: Sandbox) -> None:
    example = read_example("agentscaler/walk.md")
    chain, calls = Chain.model_validate(example["sampled"]), [Call.model_validate(call) for call in example["oracle"]]
    _, *seen = await jail.play(Program.of(PLACE), [RESET, *map(Invoke, calls)])
    assert {one.outcome for one in seen} == {"ok"}
    match = match_chain(chain, calls, [read_reply(one) for one in seen])
    assert match.missing == ()
    assert len(list_flows(chain)) >= 2


@pytest.mark.parametrize("name", [*CHAINS, "agentscaler/walk.md"])
def test_the_prompt_shows_how_to_say_that_a_chain_is_infeasible(name: str) -> None:
    (shown,) = re.findall(r'`\{"infeasible": (\{.*?\})\}`', (PROMPTS / name).read_text(encoding="utf-8"))
    assert Infeasible.model_validate_json(shown).node
