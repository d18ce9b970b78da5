"""How a session starts over: in place where that was shown to be as good as a fresh process, by a fork otherwise.

    fresh process plays an episode ──► record ──► the used process plays the records again ──► same answers? ──► proven

One differing answer refutes it for good. What is proven is looked at again whenever a process has served its episodes.
"""

import time
from dataclasses import dataclass, field
from typing import Literal

from envmill.runtime.jail.inmate import Died, Inmate
from envmill.runtime.jail.wire import Message, encode

TRIALS = 3
"""Processes that must have answered as fresh ones before a program is reset in place."""
RECORDS = 3
"""Episodes of a program that are kept to be played again."""
EPISODES = 64
"""Episodes a process serves before a fork takes its place."""
_STEPS = 64
_BYTES = 256 * 1024
_SECONDS = 0.25
"""An episode longer than this is not worth a trial: the fork is the smaller part of it."""
Verdict = Literal["unknown", "proven", "refuted"]


@dataclass
class Tape:
    """An episode as it happens, in one process."""

    fresh: bool
    """Whether the process had played nothing before."""
    whole: bool = True
    """Whether it holds every step since the construction: a long episode is not kept."""
    steps: list[Message] = field(default_factory=list[Message])
    answers: list[Message] = field(default_factory=list[Message])
    seconds: float = 0.0
    failed: bool = False

    def add(self, steps: list[Message], answers: list[Message], seconds: float) -> None:
        """What was just played."""
        self.seconds += seconds
        self.failed = self.failed or has_failed(answers)
        if len(self.steps) + len(steps) > _STEPS:
            self.whole, self.steps, self.answers = False, [], []
        elif self.whole:
            self.steps += steps
            self.answers += answers

    def is_record(self) -> bool:
        """Whether it can show something: a whole episode with calls in a fresh process, short, and nothing failed."""
        called = any(step["op"] == "call" for step in self.steps)
        return self.fresh and self.whole and called and not self.failed and self.seconds <= _SECONDS


@dataclass
class Standing:
    """What is known about resets in place of one program."""

    verdict: Verdict = "unknown"
    records: list[Tape] = field(default_factory=list[Tape])
    agreed: int = 0

    def learn(self, tape: Tape) -> None:
        """Keep an episode as a record, if it is one and differs from those kept."""
        new = tape.is_record() and all(tape.steps != known.steps for known in self.records)
        if new and len(self.records) < RECORDS and sum(len(encode(part)) for part in (*tape.steps, *tape.answers)) <= _BYTES:
            self.records.append(tape)

    def refute(self) -> None:
        """It was seen to differ: every session is a fork from now on."""
        self.verdict, self.records = "refuted", []

    def try_out(self, inmate: Inmate) -> None:
        """Play the records in a used process. It must answer as the fresh one did."""
        if self.verdict == "refuted" or not self.records:
            return
        if not all(_plays_alike(inmate, record) for record in self.records):
            self.refute()
            return
        self.agreed += 1
        if self.agreed >= TRIALS:
            self.verdict = "proven"


def _plays_alike(inmate: Inmate, record: Tape) -> bool:
    try:
        answers = inmate.play(in_place(record.steps), time.monotonic() + 20 * _SECONDS)
    except Died:
        return False
    return all(map(agree, answers, record.answers))


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
    return answer | ({} if recorded["state_hash"] else {"state_hash": ""}) == recorded
