"""Chains drawn from a recorded path: what an honest author who was offered them would have
written."""

import random
from collections.abc import Iterator, Sequence

from envmill.kinds.start import start
from envmill.recipes.drafting.rechecking import find_keys
from envmill.recipes.drafting.tracing import trace
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.toolgraph.chain_player import read_reply
from envmill.toolgraph.overlap import list_flows
from schemas.base import Json
from schemas.chain import Chain, ChainStep, FromUser, Reason
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


async def play_path(
    scenario: Scenario, environment: Environment, jail: Sandbox
) -> tuple[list[Json], Chain]:
    """Replies to the reference path, and the path told as a chain."""
    begun = start(scenario)
    seen = await jail.play(Program.of(environment), [begun, *map(Invoke, scenario.oracle), Look()])
    replies = [read_reply(one) for one in seen[1:-1]]
    states = (scenario.initial_state, seen[-1].state or {})
    return replies, trace(scenario.oracle, replies, find_keys(states), scenario.request, "recorded")


def draw_parts(chain: Chain, many: int, seed: str) -> Iterator[Chain]:
    """Chains of some of its steps, with what flows between them."""
    chance, steps = (
        random.Random(seed),
        [node for node in chain.nodes if isinstance(node, ChainStep)],
    )
    givers = {(flow.step, flow.argument): flow.givers for flow in list_flows(chain)}
    for _ in range(many):
        kept = {step.id for step in chance.sample(steps, min(len(steps), chance.randint(2, 6)))}
        parts = [
            _cut(node, kept, givers)
            for node in chain.nodes
            if isinstance(node, ChainStep) and node.id in kept
        ]
        reasons = [node for node in chain.nodes if isinstance(node, Reason) and _gives(node, kept)]
        yield Chain(sampler="recorded", nodes=[*reasons, *parts])


def leave_out(
    chain: Chain, calls: Sequence[Call], replies: Sequence[Json], chance: random.Random
) -> tuple[list[Call], list[Json]]:
    """The path without the calls of one of the chain's tools."""
    tool = chance.choice([node.tool for node in chain.nodes if isinstance(node, ChainStep)])
    left = [(call, reply) for call, reply in zip(calls, replies, strict=True) if call.name != tool]
    return [call for call, _ in left], [reply for _, reply in left]


def _cut(
    node: ChainStep, kept: set[str], givers: dict[tuple[str, str], tuple[str, ...]]
) -> ChainStep:
    arguments = {
        path: source if set(givers.get((node.id, path), ())) <= kept else FromUser()
        for path, source in node.arguments.items()
    }
    return node.model_copy(update={"arguments": arguments})


def _gives(node: Reason, kept: set[str]) -> bool:
    return all(getattr(source, "node", "") in kept for source in node.takes)
