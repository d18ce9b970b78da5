"""Where a rollout's moves are made: in a session held open, or in a plan that was played in one
message to the jail.

listens            ─► Live: a message per move
does not listen    ─► Rehearsal: its moves, nothing played ─► one plan ─► Written: the same moves recited, and now their replies
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from envmill.agents.base import Speaker, Turn, TurnInput
from envmill.agents.users.base import Person, UserAnswer, Utterance
from envmill.base.errors import SandboxError
from envmill.sandbox import Look, Observation, Program, Reset, Sandbox, Session
from envmill.sandbox.plan import Step

_TAKES = 3
_UNSEEN = Observation("ok", [], "", "", "", None)


class RolloutBackend(Protocol):
    """One performance."""

    async def start(self) -> Observation:
        """How the environment begins."""
        ...

    async def play(self, step: Step) -> Observation:
        """One move."""
        ...

    async def observe(self) -> Observation:
        """The end."""
        ...


@dataclass
class LiveBackend:
    """A session held open."""

    session: Session
    reset: Reset

    async def start(self) -> Observation:
        return await self.session.step(self.reset)

    async def play(self, step: Step) -> Observation:
        return await self.session.step(step)

    async def observe(self) -> Observation:
        return await self.session.step(Look())


@dataclass
class RecordingBackend:
    """Notes the moves of those who do not listen."""

    steps: list[Step] = field(default_factory=list[Step])

    async def start(self) -> Observation:
        return _UNSEEN

    async def play(self, step: Step) -> Observation:
        self.steps.append(step)
        return _UNSEEN

    async def observe(self) -> Observation:
        return _UNSEEN


class PlannedBackend:
    """A plan's observations, handed out in order."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        self._began, *replies, self._end = seen
        self._replies = iter(replies)

    async def start(self) -> Observation:
        return self._began

    async def play(self, step: Step) -> Observation:  # noqa: ARG002  it was played
        return next(self._replies)

    async def observe(self) -> Observation:
        return self._end


class TurnRecorder:
    """A speaker or person whose lines are noted, to be recited instead of thought up again."""

    def __init__(self, speaker: Speaker, person: Person | None) -> None:
        self._speaker, self._person = speaker, person
        self._turns: list[Turn] = []
        self._answers: list[UserAnswer] = []
        self.listens = False

    def recite(self) -> "TurnPlayback":
        return TurnPlayback(self._turns, self._answers)

    async def speak(self, heard: TurnInput) -> Turn:
        self._turns.append(turn := await self._speaker.speak(heard))
        return turn

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        assert self._person is not None
        self._answers.append(answer := await self._person.answer(dialogue))
        return answer


class TurnPlayback:
    """The noted lines, in order."""

    listens = False

    def __init__(self, turns: Sequence[Turn], answers: Sequence[UserAnswer]) -> None:
        self._turns, self._answers = iter(turns), iter(answers)

    async def speak(self, heard: TurnInput) -> Turn:  # noqa: ARG002  it is known what comes
        return next(self._turns)

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:  # noqa: ARG002  it is known what comes
        return next(self._answers)


async def play_plan(
    sandbox: Sandbox, program: Program, reset: Reset, steps: Sequence[Step]
) -> PlannedBackend:
    """One message; a second one where a move failed, since nothing is done after that. A move that
    then does not fail was held up by a busy
    machine, and says nothing."""
    for _ in range(_TAKES):
        seen = await sandbox.play(program, [reset, *steps, Look()])
        failed = next(
            (place for place, one in enumerate(seen[:-1]) if one.outcome == "failure"), len(steps)
        )
        if failed >= len(steps):
            return PlannedBackend(seen)
        seen = await sandbox.play(program, [reset, *steps[:failed], Look()])
        if seen[failed].outcome == "failure":
            return PlannedBackend(seen)
    raise SandboxError(
        f"A move failed {_TAKES} times, and each time succeeded when it was played again: the "
        "machine may be overloaded. Retry when it is less busy."
    )
