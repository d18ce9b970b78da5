"""Unfolding: a scenario that came with a chain gets its reference path from carrying the chain out, its expansion judged on the way."""

from envmill.drafting.enacting import enact
from envmill.drafting.expansion import Plot, judge_expansion
from envmill.errors import BuildError
from envmill.sandbox import Program, Reset, Sandbox
from schemas.prompts import ScenarioReply
from schemas.tool_prompts import ChainReply


async def unfold(reply: ScenarioReply, program: Program, reset: Reset, sandbox: Sandbox) -> ScenarioReply:
    """The reply with its calls; as it was where they came with it. BuildError, with a `reason`, for a chain that cannot stand."""
    if not isinstance(reply, ChainReply):
        return reply
    whole = Plot(reply.chain, reply.filling, reset)
    if not 0 < reply.core < len(reply.chain.nodes):
        enacted = await enact(whole.chain, whole.filling, program, reset, sandbox)
        return reply.model_copy(update={"oracle": enacted.calls})
    seed = Plot(reply.chain.model_copy(update={"nodes": reply.chain.nodes[: reply.core]}), reply.filling, reset)
    was = await enact(seed.chain, seed.filling, program, reset, sandbox)
    verdict = await judge_expansion(seed, was, whole, program, sandbox)
    if verdict.enacted is None:
        raise BuildError(f"The expansion is not kept: {verdict.detail}.", reason=verdict.reason)
    return reply.model_copy(update={"oracle": verdict.enacted.calls})
