"""What somebody did elsewhere, done again here and judged: calls, with the state that each of them
led to there.

calls ─► a fresh session ─► the same states? ─► verdict; an error where it comes out otherwise
"""

from collections.abc import Sequence

from envmill.agents.loop import MASKED
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import make_error
from schemas.environment import Call, Environment
from schemas.rollout import Verdict
from schemas.scenario import Scenario


async def judge_recorded(
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
    reset: Reset,
    calls: Sequence[Call],
    hashes: Sequence[str],
    said: Sequence[str],
) -> Verdict:
    """`hashes` are those of the state at the start and after each call; `said` is what the user was
    told."""
    *seen, end = await sandbox.play(
        Program.shown(environment), [reset, *map(Invoke, calls), Look()], fresh=True
    )
    if end.state is None or any(one.outcome == "failure" for one in seen):
        return make_error(MASKED["environment_error"])
    for place, (now, then) in enumerate(zip(seen, hashes, strict=True)):
        if now.state_hash != then:
            return make_error(
                f"after call {place} the state is {now.state_hash}, and {then} was recorded: this "
                "is not what was played"
            )
    deeds = [CompletedCall.of(call, reply) for call, reply in zip(calls, seen[1:], strict=True)]
    return await decide(
        sandbox,
        scenario.verifier,
        Ending(scenario.initial_state, end.state, deeds, said, answers=None),
        reset.clock,
    )
