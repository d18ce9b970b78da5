"""How one row becomes one episode: a request is played by the agent alone, a conversation with the
scripted user."""

# pyright: basic, reportMissingImports=false

import asyncio

import verifiers.v1 as vf

from .sessions import ScenarioSession
from .taskset import MillTask
from .toolset import MillState
from .worlds import catch_up, find_set


class MillEnv(vf.SingleAgentEnv):
    """One agent. Whoever runs code could read verifiers where they lie, so such a harness needs a
    runtime of its own."""

    async def run(self, task: MillTask, agents: vf.Agents) -> None:
        agent = agents.agent
        if agent.harness.EXECUTES_CODE and isinstance(agent.runtime_config, vf.SubprocessConfig):
            raise ValueError(
                f"The harness {agent.harness.config.id!r} runs code, and in the runtime "
                "`subprocess` that code could read the verifiers in "
                "sealed/. Use --env.agent.harness.id null, or a runtime that is another machine "
                "or container."
            )
        if task.data.form == "single":
            await agent.run(task)
        else:
            await _converse(task, agent)


async def _converse(task: MillTask, agent: vf.Agent) -> None:
    """Until the scripted user says no more. The user acts in a session of its own, brought to where
    the agent's calls led."""
    session = await asyncio.to_thread(find_set(task.config.folder).begin, task.data.scenario)
    try:
        async with agent.interaction(task) as talk:
            segment = await talk.turn()
            while not segment.terminated and not talk.trace.state.outage:
                last = talk.trace.assistant_messages[-1]
                if last.tool_calls:
                    return  # a limit of the consumer ended it
                answer = await asyncio.to_thread(
                    _answer, session, talk.trace.state, last.content or ""
                )
                if answer["end"] or not answer["text"]:
                    return
                segment = await talk.turn(answer["text"])
    finally:
        await asyncio.to_thread(session.close)


def _answer(session: ScenarioSession, state: MillState, words: str) -> dict[str, str]:
    """What the user says; what was said, and what the user did, goes into the state that tools and
    rewards read."""
    catch_up(session, state.moves)
    answer = session.say(words) or {"text": "", "end": "over"}
    state.moves, state.state_hash = list(session.moves), session.state_hash
    return answer
