"""Unfolding: a scenario that came with a chain gets its reference path from carrying the chain out,
and is held to the one validator of chains. An expansion is compared with the chain that was kept
before it, carried out on its own state."""

from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.recipes.drafting.expansion import PlottedChain, judge_expansion
from envmill.recipes.drafting.rechecking import PlayedChain, hold, list_words
from envmill.recipes.drafting.requests import share_calls
from envmill.sandbox import Program, Reset, Sandbox
from envmill.toolgraph.chain_player import Enacted, enact
from envmill.toolgraph.validity import limit_written
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import RequestPart
from schemas.tool_prompts import ChainReply


@dataclass(frozen=True)
class Unfolded:
    """A reply with its calls."""

    reply: ScenarioReply
    parts: list[RequestPart]
    """Of several requests: each with its part of the path."""
    enacted: Enacted | None = None
    """What its chain came to; None where it has none."""


async def unfold(
    reply: ScenarioReply,
    environment: Environment,
    reset: Reset,
    sandbox: Sandbox,
    old: ScenarioReply | None = None,
) -> Unfolded:
    """The reply with its calls; as it was where they came with it. BuildError, with a `reason`, for
    a chain that cannot stand.

    `old`: the scenario that this one expands.
    """
    if not isinstance(reply, ChainReply):
        return Unfolded(reply, [])
    enacted = await _enact(
        reply, environment, reset, sandbox, old if isinstance(old, ChainReply) else None
    )
    await hold(
        reply.chain,
        environment,
        PlayedChain(
            enacted.calls, enacted.replies, (reset.state, enacted.state), list_words(reply)
        ),
    )
    return Unfolded(
        reply.model_copy(update={"oracle": enacted.calls}),
        share_calls(reply, enacted.steps),
        enacted,
    )


async def _enact(
    reply: ChainReply,
    environment: Environment,
    reset: Reset,
    sandbox: Sandbox,
    old: ChainReply | None,
) -> Enacted:
    program, whole = Program.of(environment), PlottedChain(reply.chain, reply.filling, reset)
    most = limit_written(environment.brief).most
    if old is None:
        return await enact(whole.chain, whole.filling, program, reset, sandbox, most)
    seed = PlottedChain(old.chain, old.filling, replace(reset, state=old.initial_state))
    was = await enact(seed.chain, seed.filling, program, seed.reset, sandbox, most)
    verdict = await judge_expansion(seed, was, whole, program, sandbox, reply.tell, most)
    if verdict.enacted is None:
        raise BuildError(f"The expansion is not kept: {verdict.detail}.", reason=verdict.reason)
    return verdict.enacted
