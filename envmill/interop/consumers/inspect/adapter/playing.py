# pyright: basic, reportMissingImports=false
"""A sample played: a session of its own behind the tools, and the scripted user where the sample is
a conversation.

begin ─► session, tools ─► play ─► model ─► tools ─► … ─► last words, or what the user answers ─► model ─► …      close
"""

from anyio import to_thread
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import StoreModel
from pydantic import Field

from .sessions import JailError, JudgeError, OutageError, ScenarioSession, render_reply
from .tools import make_tool
from .worlds import try_twice

_RUNNING: dict[str, ScenarioSession] = {}
"""Sample → its session, until the sample is scored."""


class MillStore(StoreModel):
    """What happened in a sample, in its log. No verifier and no expected state."""

    scenario: str = ""
    """Id of the row."""
    moves: list[dict] = Field(default_factory=list)
    """What was done and said, as `ScenarioSet.judge_moves` takes it."""
    state_hash: str = ""
    """Hash of the state that the last move left."""
    ended: str = ""
    """Why no call is made any more; empty while it is not over."""
    talks: bool = False
    """Whether the solver lets the user answer."""
    outage: str = ""
    """Why nothing can be found out about the model; empty when something can."""


@solver
def begin(folder: str = "") -> Solver:
    """Setup: the tools of the sample's scenario, in a session of its own. Any solver may follow."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  inspect's interface
        told, row = state.store_as(MillStore), str(state.sample_id)
        told.scenario = row
        try:
            session = await to_thread.run_sync(try_twice, folder, lambda found: found.begin(row))
        except (JailError, JudgeError) as error:
            raise _break(told, error) from error
        _RUNNING[state.uuid] = session

        async def call(name: str, arguments: dict) -> str:
            try:
                reply = await to_thread.run_sync(session.call, name, arguments)
            except (JailError, JudgeError) as error:
                raise _break(told, error) from error
            return render_reply(reply)

        state.tools = [make_tool(tool["function"], call) for tool in session.row.tools]
        return state

    return solve


@solver
def play() -> Solver:
    """The model calls tools until it says something. In a conversation the user answers, until
    there is no more to say."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = _RUNNING[state.uuid]
        state.store_as(MillStore).talks = True
        while not state.completed:
            state = await generate(state, tool_calls="single")
            if session.ended:
                break
            if state.output.message.tool_calls:
                continue
            answer = await _answer(session, state) if session.row.form == "conversation" else None
            if answer is None:
                break
            state.messages.append(ChatMessageUser(content=answer))
        return state

    return solve


async def close(state: TaskState) -> None:
    """End the sample's session."""
    session = _RUNNING.pop(state.uuid, None)
    if session is not None:
        await to_thread.run_sync(session.close)


async def _answer(session: ScenarioSession, state: TaskState) -> str | None:
    """What the user answers; None where the conversation is over."""
    told = state.store_as(MillStore)
    try:
        answer = await to_thread.run_sync(session.say, state.output.completion)
    except (JailError, JudgeError) as error:
        raise _break(told, error) from error
    return None if answer is None or answer["end"] else answer["text"] or None


def record(state: TaskState) -> MillStore:
    """What happened so far, in the store: once, since inspect compares the whole store at each
    step. A log holds it already."""
    told, session = state.store_as(MillStore), _RUNNING.get(state.uuid)
    if session is not None:
        told.moves, told.state_hash, told.ended = (
            list(session.moves),
            session.state_hash,
            session.ended,
        )
    return told


def _break(told: MillStore, error: Exception) -> OutageError:
    told.outage = str(error) or type(error).__name__
    return OutageError(f"Nothing was found out about the model: {told.outage}")
