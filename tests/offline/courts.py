"""Verifiers of the author's scenarios, made as the factory makes them, and what they say of other
paths than the oracle."""

from dataclasses import dataclass

from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.rollout import Verdict
from schemas.scenario import Verifier
from tests.offline.questions import ask_program, read_tools

LATER = "2026-03-05T16:40:00+00:00"


@dataclass(frozen=True)
class Court:
    """A scenario that can be tried."""

    sandbox: Sandbox
    program: Program
    reply: ScenarioReply
    verifier: Verifier

    async def try_calls(self, calls: list[Call]) -> Verdict:
        final = await _end(
            self.sandbox, self.program, Reset(self.reply.initial_state, CLOCK, 7), calls
        )
        return judge(self.verifier, Ending(self.reply.initial_state, final))


def make_program(theme: str, number: int) -> Program:
    """The program of an environment, ready to be played."""
    written = ask_program(theme, number)
    return Program(
        {"office.py": written.source},
        f"office:{written.class_name}",
        read_tools(theme, number, written),
    )


async def open_court(sandbox: Sandbox, program: Program, reply: ScenarioReply) -> Court:
    """The verifier out of two runs of the oracle, with other ids and on another day."""
    ends = [
        await _end(sandbox, program, Reset(reply.initial_state, clock, seed), reply.oracle)
        for clock, seed in ((CLOCK, 7), (LATER, 8))
    ]
    one, other = (diff_states(reply.initial_state, end) for end in ends)
    return Court(sandbox, program, reply, derive_verifier(reply.initial_state, one, other))


async def _end(sandbox: Sandbox, program: Program, reset: Reset, calls: list[Call]) -> Json:
    seen = await sandbox.play(program, [reset, *map(Invoke, calls), Look()], hashes="none")
    assert seen[0].outcome == "ok", seen[0]
    return seen[-1].state
