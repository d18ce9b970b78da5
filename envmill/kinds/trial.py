"""A trial: fixed calls played on a scenario in one message to the jail, and the verdict on where
they lead.

reset ─► calls ─► look ─► ending ─► verdict
           └─► replies ─► what is said at the end
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import make_error
from schemas.environment import Call, Environment
from schemas.rollout import Verdict
from schemas.scenario import Scenario

BREAKDOWNS = ("timeout", "killed", "session_lost", "plan_over")
"""Codes of a session that is no more: whatever stands in the state afterwards, the policy did not
leave it so."""

LOOK = Look()
Words: TypeAlias = Sequence[str] | Callable[[Sequence[Observation]], Sequence[str]]
"""What is said at the end, fixed or made from the replies."""


@dataclass(frozen=True)
class Trial:
    """What came of it."""

    seen: list[Observation]
    """The whole plan's observations: the reset, one per call, the look."""
    ending: Ending | None
    """What was judged; None where nothing could be."""
    verdict: Verdict
    """An error where the session broke down."""
    sealed: bool = False
    """Whether a sealed probe was tried."""

    @property
    def replies(self) -> list[Observation]:
        """One per call."""
        return self.seen[1:-1]


async def try_calls(
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
    calls: Sequence[Call],
    said: Words = (),
    reset: Reset | None = None,
    *,
    fresh: bool = False,
    look: Look = LOOK,
) -> Trial:
    """Calls that are refused are part of a trial; SandboxError, an outage, is none."""
    plan = [reset or start(scenario), *map(Invoke, calls), look]
    seen = await sandbox.play(Program.of(environment), plan, fresh=fresh)
    if fault := find_breakdown(seen):
        return Trial(seen, None, make_error(fault))
    words = said(seen[1:-1]) if callable(said) else said
    deeds = [CompletedCall.of(call, reply) for call, reply in zip(calls, seen[1:-1], strict=True)]
    initial = scenario.initial_state if reset is None else reset.state
    ended = Ending.find_ended(scenario, words)
    deeds, words, answers = Ending.ask_along(deeds, words)
    ending = Ending(initial, seen[-1].state, deeds, words, ended=ended, answers=answers)
    return Trial(seen, ending, await decide(sandbox, scenario.verifier, ending, scenario.clock))


def find_breakdown(seen: Sequence[Observation]) -> str:
    """Why the end of a plan cannot be judged; empty when it can. A tool that crashes is a call that
    did not happen, no breakdown."""
    if seen[0].outcome != "ok":
        return f"the initial state is not taken ({seen[0].code}: {seen[0].message})"
    broken = next((one for one in seen if one.code in BREAKDOWNS), None)
    if broken is None and seen[-1].state is not None:
        return ""
    worst = broken or seen[-1]
    return f"the environment failed, not the policy ({worst.code}: {worst.message})"
