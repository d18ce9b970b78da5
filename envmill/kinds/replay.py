"""How a session is played again: its recording, and the comparison with another process."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from envmill.runtime.recorder import Difference, find_difference
from envmill.sandbox import Observation, Program, Sandbox, Step
from schemas.base import Json


@dataclass(frozen=True)
class PlayedSession:
    """A session as it was played."""

    steps: Sequence[Step]
    """From the reset on."""
    seen: Sequence[dict[str, Json]]
    """One observation per step: outcome, parts, state hash, uses, notifications, weather."""


async def record(program: Program, steps: Sequence[Step], sandbox: Sandbox) -> PlayedSession:
    """Play a plan and keep what came of it."""
    return PlayedSession(steps, describe(await sandbox.play(program, steps)))


async def replay(program: Program, recording: PlayedSession, sandbox: Sandbox) -> Difference | None:
    """Play it again, in another process or sandbox; None when everything is identical."""
    return find_difference(recording.seen, describe(await sandbox.play(program, recording.steps)))


def describe(observations: Sequence[Observation]) -> list[dict[str, Json]]:
    """Observations as plain JSON."""
    return [asdict(one) for one in observations]
