"""A seat: one logical session in the driver. Its process may die; a reset puts a fresh one in its place."""

import time

from envmill.runtime.jail.inmate import Died, Inmate
from envmill.runtime.jail.template import Template
from envmill.runtime.jail.wire import Message

LOST = "session_lost"


class Seat:
    """Plays steps in the process it holds, and answers for one that died."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._inmate: Inmate | None = None

    def play(self, steps: list[Message], until: float) -> list[Message]:
        """One observation per step, whatever happens. `until` bounds the whole plan on the monotonic clock."""
        if self._template.fault:
            return [failure("build", self._template.fault) for _ in steps]
        observations: list[Message] = []
        for segment in _segments(steps):
            observations += self._play_segment(segment, until)
        return observations

    def close(self) -> None:
        if self._inmate:
            self._template.release(self._inmate)
            self._inmate = None

    def _play_segment(self, steps: list[Message], until: float) -> list[Message]:
        if time.monotonic() > until:
            self.close()
            return [failure("timeout", "The plan's time was used up before this step.") for _ in steps]
        self._sit(steps[0])
        if self._inmate is None:
            return _lost(len(steps))
        try:
            return self._inmate.play(steps, until)
        except Died as death:
            self.close()
            self._template.check()
            if len(death.arrived) >= len(steps) - 1 or time.monotonic() > until:
                return [*death.arrived, failure(death.code, death.message), *_lost(len(steps))][: len(steps)]
            return self._play_singly(steps, until)

    def _play_singly(self, steps: list[Message], until: float) -> list[Message]:
        # A process that dies takes the observations it had kept back along. A plan is deterministic, so it is
        # played again with one step per message, and the guilty step is known.
        observations: list[Message] = []
        for step in steps:
            observations += self._play_segment([step], until)
        return observations

    def _sit(self, first: Message) -> None:
        if self._inmate is None and first["op"] in ("reset", "load"):
            self._inmate = self._template.fork()


def _segments(steps: list[Message]) -> list[list[Message]]:
    """Cut before every reset: what follows a reset does not depend on what came before."""
    starts = sorted({0, *(place for place, step in enumerate(steps) if step["op"] == "reset")})
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], len(steps)], strict=True) if start < end]


def _lost(count: int) -> list[Message]:
    return [failure(LOST, "The session is lost; the next reset starts another.") for _ in range(count)]


def failure(code: str, message: str) -> Message:
    return {"outcome": "failure", "parts": [], "code": code, "message": message, "state_hash": "", "state": None}
