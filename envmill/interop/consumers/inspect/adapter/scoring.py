# pyright: basic, reportMissingImports=false
"""The scorer. It makes a sample's moves again and judges them, so `inspect score` needs the log
alone."""

from anyio import to_thread
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from .playing import record
from .sessions import OutageError, SetError
from .worlds import find_set, try_twice


@scorer(metrics=[mean(), stderr()])
def passed(folder: str = "") -> Scorer:
    """1 where the verifier passes the whole job, else 0 (or a part, where the row's rewards are
    partial). An outage is never a 0."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  inspect's interface
        told = record(state)
        if told.outage:
            return Score.unscored(
                reason="scoring_failed", explanation=told.outage, metadata={"outcome": "error"}
            )
        row = find_set(folder).find(told.scenario)
        if row.form == "conversation" and not told.talks:
            raise SetError(
                "Nobody answered as the user: a solver other than `play` needs -T forms=single."
            )
        words = _read_last_words(state) if row.form == "single" and not told.ended else None
        moves = [*told.moves, *([] if words is None else [{"say": words}])]
        scenario, state_hash = told.scenario, told.state_hash
        verdict = await to_thread.run_sync(
            try_twice, folder, lambda found: found.judge_moves(scenario, moves, state_hash)
        )
        if verdict.reward is None:
            raise OutageError(
                f"There is no verdict, and nothing was found out about the model: {verdict.reason}"
            )
        # Not why it failed: programs that improve prompts by reading logs would read what was
        # expected.
        metadata = {
            "outcome": verdict.outcome,
            "state_hash": verdict.state_hash,
            "components": dict(verdict.components),
        }
        return Score(value=verdict.reward, answer=words, metadata=metadata)

    return score


def _read_last_words(state: TaskState) -> str | None:
    """What the model said in the end; None where it was cut off in the middle of calls."""
    last = next(
        (
            message
            for message in reversed(state.messages)
            if isinstance(message, ChatMessageAssistant)
        ),
        None,
    )
    said = state.output.completion
    # A solver that ends with a tool for the answer puts the answer there, and the last message has
    # a call.
    return None if last is None or (last.tool_calls and said == last.text) else said or last.text
