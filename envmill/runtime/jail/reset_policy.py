"""How a session that may be reset in place starts over: so where that was shown to be as good as a
fresh process, by a fork otherwise.

    fresh process plays an episode ──► record ──► the used process plays the records again ──► same bytes? ──► proven
    used process plays an episode  ──► one of 64, drawn ──► a fresh process plays it again ──► same bytes? ──► still proven

One differing answer refutes it for good, and one that comes after the proof is reported: what was
concluded from its sessions may be wrong.
"""

import os
import time
from dataclasses import dataclass, field
from typing import Literal

from envmill.runtime.jail.operations import SOILED
from envmill.runtime.jail.process import JailedProcess, ProcessDied
from envmill.runtime.jail.wire import Message, encode

TRIALS = 3
"""Processes that must have answered as fresh ones before a program is reset in place."""
RECORDS = 3
"""Episodes of a program that are kept to be played again."""
EPISODES = 64
"""Episodes a process serves before a fork takes its place."""
DRAWN = 64
"""Of so many episodes that were reset in place, one is played again in a fresh process: for ever,
and nobody knows which."""
_STEPS = 64
_BYTES = 256 * 1024
_HEAVIEST = 64 * 1024 * 1024
"""Bytes of memory for the answers of an episode that is kept: one for each open session."""
_SECONDS = 0.25
"""An episode longer than this is not worth a trial: the fork is the smaller part of it."""
_LONGEST = 20 * _SECONDS
"""What a repetition may take: nobody else is served meanwhile."""
_HARMLESS = (SOILED, "timeout")
"""Codes of answers that refute and are not told: seen before anybody was served, or the machine was too busy for the step."""
LEAKS: list[Message] = []
"""Steps that came to something else after their program was proven: to be told with the next
reply."""
Verdict = Literal["unknown", "proven", "refuted"]


@dataclass
class EpisodeLog:
    """An episode as it happens, in one process."""

    fresh: bool
    """Whether the process had played nothing before."""
    hashes: str = "each"
    """After which steps of a message the state was hashed."""
    whole: bool = True
    """Whether it holds every step since the construction: a long episode is not kept."""
    steps: list[Message] = field(default_factory=list[Message])
    answers: list[Message] = field(default_factory=list[Message])
    lengths: list[int] = field(default_factory=list[int])
    """Steps of each message."""
    seconds: float = 0.0
    cost: int = 0
    """Bytes of memory, about, that its answers take."""
    failed: bool = False

    def add(
        self, steps: list[Message], answers: list[Message], seconds: float, cost: int = 0
    ) -> None:
        """What was just played."""
        self.seconds += seconds
        self.cost += cost
        self.failed = self.failed or has_failed(answers)
        if len(self.steps) + len(steps) > _STEPS or self.cost > _HEAVIEST:
            self.whole, self.steps, self.answers, self.lengths = False, [], [], []
        elif self.whole:
            self.steps += steps
            self.answers += answers
            self.lengths.append(len(steps))

    def is_record(self) -> bool:
        """Whether it can show that a used process is as good: an episode in a fresh one that can be
        played again."""
        return self.fresh and self.can_be_repeated() and self.seconds <= _SECONDS

    def can_be_repeated(self) -> bool:
        """A whole episode with calls, and nothing failed. Snapshots hold bytes that may differ
        where all they say is the same. A program
        that takes its time is not left out for it: it could choose which of its episodes are
        drawn."""
        done = {step["op"] for step in self.steps}
        return (
            self.whole
            and "call" in done
            and done.isdisjoint(("snapshot", "restore"))
            and not self.failed
            and self.seconds <= _LONGEST
        )


@dataclass
class ResetPolicy:
    """What is known about resets in place of one program."""

    program: str
    """Its hash."""
    verdict: Verdict = "unknown"
    records: list[EpisodeLog] = field(default_factory=list[EpisodeLog])
    agreed: int = 0

    def learn(self, tape: EpisodeLog) -> None:
        """Keep an episode as a record, if it is one and differs from those kept."""
        new = tape.is_record() and all(tape.steps != known.steps for known in self.records)
        if (
            new
            and len(self.records) < RECORDS
            and sum(len(encode(part)) for part in (*tape.steps, *tape.answers)) <= _BYTES
        ):
            self.records.append(tape)

    def refute(self, step: Message | None = None) -> None:
        """It was seen to differ, in this step: every session is a fork from now on."""
        if self.verdict == "proven" and step:
            LEAKS.append({"program": self.program, "step": step.get("name", step["op"])})
        self.verdict, self.records = "refuted", []

    def try_out(self, inmate: JailedProcess) -> None:
        """Play the records in a used process. It must answer as the fresh one did."""
        if self.verdict == "refuted" or not self.records:
            return
        for record in self.records:
            try:
                answers = inmate.play(in_place(record.steps), time.monotonic() + _LONGEST)
            except ProcessDied:
                self.refute()
                return
            for step, one, other in zip(record.steps, answers, record.answers, strict=False):
                if not agree(one, other):
                    self.refute(None if one["code"] in _HARMLESS else step)
                    return
        self.agreed += 1
        if self.agreed >= TRIALS:
            self.verdict = "proven"

    def repeat(self, inmate: JailedProcess, tape: EpisodeLog) -> None:
        """Play again in a fresh process what was played in a used one. It must answer the same
        bytes."""
        if self.verdict != "proven":
            return
        at, until = 0, time.monotonic() + 2 * _LONGEST
        for length in tape.lengths:
            steps, recorded = tape.steps[at : at + length], tape.answers[at : at + length]
            try:
                answers = inmate.play(steps, until, tape.hashes)
            except ProcessDied:
                self.refute()  # not reported: the machine may have been short of something
                return
            for step, one, other in zip(steps, answers, recorded, strict=True):
                if encode(one) != encode(other):
                    self.refute(None if one["code"] in _HARMLESS else step)
                    return
            at += length


def drain_leaks() -> list[Message]:
    """What there is to tell, once."""
    told = LEAKS.copy()
    LEAKS.clear()
    return told


def is_drawn() -> bool:
    """Whether an episode is to be played again. From the kernel: what is forked from here could
    foresee a generator of ours."""
    return int.from_bytes(os.urandom(2), "little") % DRAWN == 0


def in_place(steps: list[Message]) -> list[Message]:
    """The steps of an episode for a used process, which first looks whether it is as it was."""
    return [{**steps[0], "settle": True}, *steps[1:]]


def has_failed(answers: list[Message]) -> bool:
    """Whether the program failed in any of them."""
    for answer in answers:  # noqa: SIM110  # asked after every step: the generator of any() costs more than the look
        if answer["outcome"] == "failure":
            return True
    return False


def agree(answer: Message, recorded: Message) -> bool:
    """Whether a step played again came to the same."""
    # A recorded step without a hash did not look; when it is played again, every step does.
    return encode(answer | ({} if recorded["state_hash"] else {"state_hash": ""})) == encode(
        recorded
    )
