"""A seat: one logical session in the driver. Its process may die or be exchanged; every
construction finds a good one."""

import time
from typing import Any

from envmill.runtime.jail.operations import CONSTRUCTIVE, EMPTY, SOILED
from envmill.runtime.jail.process import JailedProcess, ProcessDied
from envmill.runtime.jail.reset_policy import EPISODES, EpisodeLog, agree, has_failed, in_place
from envmill.runtime.jail.template import Template
from envmill.runtime.jail.wire import Message
from envmill.runtime.results import NO_RESULT, fill, read_reply

LOST = "session_lost"
OVER = "plan_over"
"""Of a step for which no time was left. It says nothing about that step: those before it took the
time."""
REVIVALS = 2
"""Other processes that are led to where one died, before its death is believed."""


class SessionSlot:
    """Plays steps in the process it holds, and answers for one that died."""

    def __init__(self, template: Template, hashes: str = "each", *, in_place: bool = False) -> None:
        self._template = template
        self._hashes = hashes
        self._in_place = in_place
        self._inmate: JailedProcess | None = None
        self._tape = EpisodeLog(fresh=False)
        self._results: dict[int, Any] = {}
        """Label of a call → its reply, since the session began."""

    def play(self, steps: list[Message], until: float) -> list[Message]:
        """One observation per step, whatever happens. `until` bounds the whole plan on the
        monotonic clock."""
        if self._template.fault:
            return [failure("build", self._template.fault) for _ in steps]
        if len(steps) == 1:
            (step,) = steps
            if (
                step["op"] == "call"
                and "label" not in step
                and "uses" not in step
                and self._inmate
                and time.monotonic() <= until
            ):
                return self._play_here(steps, until)
        if any("label" in step or "uses" in step for step in steps):
            return self._play_linked(steps, until)
        if self._results and any(step["op"] in CONSTRUCTIVE for step in steps):
            self._results = {}
        if len(steps) == 1:
            return self._play_segment(steps, until)
        observations: list[Message] = []
        for segment in _segments(steps):
            observations += self._play_segment(segment, until)
        return observations

    def close(self) -> None:
        """End the session; its process may serve another."""
        if self._inmate:
            self._template.give_back(self._inmate, self._tape if self._in_place else None)
            self._inmate = None

    def _play_linked(self, steps: list[Message], until: float) -> list[Message]:
        """Step by step, since arguments are filled from replies that came before. A call that lacks
        one is refused here, and not made."""
        observations: list[Message] = []
        for step in steps:
            if step["op"] in CONSTRUCTIVE:
                self._results = {}
            plain = {name: value for name, value in step.items() if name not in ("label", "uses")}
            if uses := step.get("uses"):
                plain["arguments"], lacking = fill(step["arguments"], uses, self._results)
                if lacking:
                    state_hash = observations[-1]["state_hash"] if observations else ""
                    observations.append(
                        {
                            **EMPTY,
                            "outcome": "rejection",
                            "code": NO_RESULT,
                            "message": lacking,
                            "state_hash": state_hash,
                        }
                    )
                    continue
            (seen,) = self._play_segment([plain], until)
            if (label := step.get("label")) and seen["outcome"] == "ok":
                self._results[label] = read_reply(seen["parts"])
            observations.append(seen)
        return observations

    def _play_segment(self, steps: list[Message], until: float) -> list[Message]:
        if time.monotonic() > until:
            self._abandon()
            return [failure(OVER, "The plan's time was used up before this step.") for _ in steps]
        if steps[0]["op"] not in CONSTRUCTIVE:
            return self._play_here(steps, until) if self._inmate else _lost(len(steps))
        answers = self._play_in_place(steps, until)
        if answers and self._inmate:
            return answers
        fresh = self._play_afresh(steps, until)
        if answers and not has_failed(fresh):
            # The same steps fail in a used process and not in a fresh one.
            self._template.standing.refute(steps[0])
        return fresh

    def _play_in_place(self, steps: list[Message], until: float) -> list[Message]:
        """Nothing, when the standing or the process asks for a fresh one."""
        # Whoever has memory shuffled first wants to see what a process of its own makes of it; and
        # a large state that a template keeps is inherited in less time than it is unpacked, unless
        # it only has to be rolled back.
        inherited = steps[0].get("large") and not self._template.rolls_back
        apart = not self._in_place or steps[0].get("shaken") or inherited
        inmate = None if apart else self._find_used()
        if inmate is None:
            return []
        try:
            answers = inmate.play(in_place(steps), until, self._hashes)
        except ProcessDied:
            self._abandon()
            return []
        if answers[0]["code"] == SOILED:
            self._abandon()
            return []
        # A failure seen in a used process is not believed: the caller plays again.
        if has_failed(answers):
            self._abandon()
            return answers
        self._begin(inmate, fresh=False)
        self._tape.add(steps, answers, inmate.took, inmate.heard)
        return answers

    def _find_used(self) -> JailedProcess | None:
        if (
            self._inmate
            and self._template.standing.verdict == "proven"
            and not self._tape.failed
            and self._inmate.episodes < EPISODES
        ):
            self._template.doubt(self._tape)
            return self._inmate
        self.close()
        self._inmate = self._template.take_used()
        return self._inmate

    def _play_afresh(self, steps: list[Message], until: float) -> list[Message]:
        self.close()
        self._template.teach(steps[0])
        self._begin(self._template.take_fresh(), fresh=True)
        return self._play_here(steps, until)

    def _play_here(self, steps: list[Message], until: float) -> list[Message]:
        assert self._inmate
        inmate = self._inmate
        try:
            answers = inmate.play(steps, until, self._hashes)
        except ProcessDied as death:
            self._abandon()
            self._template.check()
            revived = self._revive(steps, until) if death.by_itself else []
            if revived:
                return revived
            if death.code == "timeout" and time.monotonic() > until:
                left = failure(OVER, "The plan's time was used up while this step ran.")
                return [*death.arrived, left, *_lost(len(steps))][: len(steps)]
            if len(death.arrived) >= len(steps) - 1 or time.monotonic() > until:
                return [*death.arrived, failure(death.code, death.message), *_lost(len(steps))][
                    : len(steps)
                ]
            return self._play_singly(steps, until)
        self._tape.add(steps, answers, inmate.took, inmate.heard)
        return answers

    def _revive(self, steps: list[Message], until: float) -> list[Message]:
        """The answers of another process that was led to the same place; nothing when it dies
        there, too, or comes elsewhere.

        Somebody may have killed the process, or the machine was short of memory: only what happens
        again is the program's doing.
        """
        tape = EpisodeLog(fresh=False) if steps[0]["op"] in CONSTRUCTIVE else self._tape
        for _ in range(REVIVALS if tape.whole else 0):
            self._begin(self._template.take_fresh(), fresh=True)
            try:
                assert self._inmate
                answers = self._inmate.play(
                    [*tape.steps, *steps], until, self._hashes.replace("last", "each")
                )
            except ProcessDied:
                self._abandon()
                self._template.check()
                continue
            if all(map(agree, answers, tape.answers)):
                self._tape.add(
                    [*tape.steps, *steps], answers, self._inmate.took, self._inmate.heard
                )
                return answers[len(tape.steps) :]
            self._abandon()
        return []

    def _play_singly(self, steps: list[Message], until: float) -> list[Message]:
        # A process that dies takes the observations it had kept back along. A plan is
        # deterministic, so it is played again with one step per message, and the guilty step is
        # known.
        observations: list[Message] = []
        for step in steps:
            observations += self._play_segment([step], until)
        return observations

    def _begin(self, inmate: JailedProcess, *, fresh: bool) -> None:
        self._inmate, self._tape = (
            inmate,
            EpisodeLog(fresh and self._template.standing.verdict == "unknown", self._hashes),
        )
        inmate.episodes += 1

    def _abandon(self) -> None:
        if self._inmate:
            self._template.give_back(self._inmate, None)
            self._inmate = None


def _segments(steps: list[Message]) -> list[list[Message]]:
    """Cut before every reset: what follows a reset does not depend on what came before."""
    starts = sorted({0, *(place for place, step in enumerate(steps) if step["op"] == "reset")})
    if len(starts) == 1:
        return [steps]
    return [
        steps[start:end]
        for start, end in zip(starts, [*starts[1:], len(steps)], strict=True)
        if start < end
    ]


def _lost(count: int) -> list[Message]:
    return [
        failure(LOST, "The session is lost; the next reset starts another.") for _ in range(count)
    ]


def failure(code: str, message: str) -> Message:
    return {
        "outcome": "failure",
        "parts": [],
        "code": code,
        "message": message,
        "state_hash": "",
        "state": None,
    }
