"""Where recorded agents ended, and ends made from theirs: nothing done, one write left out, one
write gone wrong."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envmill.kinds.trial import Trial, try_calls
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.environment import Call
from tests.real_authors.corpus import Attempt
from tests.real_authors.making import Made


async def play(
    made: Made, attempt: Attempt, sandbox: Sandbox, calls: Sequence[Call], said: Sequence[str]
) -> Trial:
    assert made.environment is not None
    return await try_calls(made.scenarios[attempt.number], made.environment, sandbox, calls, said)


async def judge_attempt(made: Made, attempt: Attempt, sandbox: Sandbox) -> tuple[str, Trial]:
    """`pass`, or `fail` with the first words of the reason."""
    trial = await play(made, attempt, sandbox, attempt.calls, attempt.said)
    outcome, reason = trial.verdict.outcome, trial.verdict.reason.partition(":")[0]
    return f"{outcome}: {reason}" if reason else outcome, trial


def list_wrong_ends(
    made: Made, attempt: Attempt, right: Trial
) -> Iterator[tuple[str, list[Call], Sequence[str]]]:
    """(what is wrong, calls, words) of ends that an attempt which passed did not come to."""
    assert made.environment is not None
    scenario = made.scenarios[attempt.number]
    yield "nothing done", [], ()
    yield "words alone", [], attempt.said
    changing = {tool.name for tool in made.environment.tools if tool.effect == "change"}
    for place, (call, reply) in enumerate(zip(attempt.calls, right.replies, strict=True)):
        if call.name not in changing or reply.outcome != "ok":
            continue
        before, after = list(attempt.calls[:place]), list(attempt.calls[place + 1 :])
        yield f"without {place}, {call.name}", [*before, *after], attempt.said
        for name, other in _alter(call.arguments, scenario.initial_state):
            altered = call.model_copy(update={"arguments": {**call.arguments, name: other}})
            yield (
                f"{place}, {call.name}, with {name}={other!r}",
                [*before, altered, *after],
                attempt.said,
            )


def _alter(arguments: Mapping[str, Json], state: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Each argument that is a number or a key, with another value."""
    tables = [rows for rows in state.values() if isinstance(rows, dict)]
    for name, value in arguments.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value + 1
        for rows in tables:
            if (
                isinstance(value, str)
                and value in rows
                and (others := [key for key in rows if key != value])
            ):
                yield name, others[0]
