"""Reviewers for W4, scripted: a tester with a list of calls, and a checker that knows what the
studio ought to do and errs when told to."""

import json
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envmill.gates.review import StateCall, play
from envmill.lake.journal import Journal
from envmill.models.gateway import Gateway
from envmill.models.offline import Offline
from envmill.models.session import ModelSession
from envmill.sandbox import Program, Sandbox
from schemas.base import canonical_json
from schemas.environment import Call
from schemas.prompts import TesterCall, TesterReply
from tests.gates.specimens import make_studio
from tests.gates.specimens.studio import STATE

CALLS: dict[str, list[dict[str, Any]]] = {
    "find_members": [{"query": text} for text in ("Ada", "bo", "zz", "", "Marsh")],
    "list_classes": [{}, *({"day": day} for day in ("Tuesday", "Friday", "Sunday", "Monday"))],
    "get_booking": [{"booking_id": key} for key in ("B1", "B2", "B3", "B9", "M1")],
    "list_bookings": [{"member_id": key} for key in ("M1", "M2", "M3", "M4", "M9")],
    "top_up": [
        {"member_id": key, "amount": amount}
        for key, amount in (("M1", 1), ("M2", 100), ("M3", 101), ("M9", 5), ("M4", 50))
    ],
    "book_seats": [
        {"member_id": member, "class_id": course, "seats": seats}
        for member, course, seats in (
            ("M2", "C1", 1),
            ("M3", "C1", 1),
            ("M2", "C2", 2),
            ("M1", "C1", 1),
            ("M2", "C3", 3),
        )
    ],
    "cancel_booking": [{"booking_id": key} for key in ("B1", "B2", "B3", "B9", "C1")],
}
"""Five for every tool of the studio: the edges of its rules among them."""


@dataclass
class Reviewers:
    """Both, as the author behind a provider; `asked` counts questions by prompt."""

    truth: dict[str, str]
    """Call and state → what the right studio does. Of a state that is not there the checker finds
    everything right."""
    misses: float = 0.0
    """Share of faults that the checker passes."""
    alarms: float = 0.0
    """Share of right work that it fails."""
    say: Callable[[str, Any, str], str] = lambda prompt, inputs, reply: reply
    """Changes a reply: prompt, inputs, reply."""
    asked: list[str] = field(default_factory=list[str])

    def answer(
        self,
        prompt: str,
        inputs: Any,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        self.asked.append(prompt)
        return self.say(
            prompt, inputs, self._try(inputs) if prompt == "tester" else self._check(inputs)
        )

    def _try(self, inputs: Any) -> str:
        first = 5 * inputs["round"]
        planned = [
            TesterCall(call=Call(name=name, arguments=arguments), expect="success", why="tried")
            for name, count in inputs["wanted"].items()
            for arguments in CALLS.get(name, [])[first : first + count]
        ]
        return TesterReply(calls=planned).model_dump_json()

    def _check(self, inputs: Any) -> str:
        told = canonical_json(
            [
                inputs["outcome"],
                inputs["parts"] if inputs["outcome"] == "ok" else [],
                inputs["changes"],
            ]
        )
        right = told == self.truth.get(canonical_json([inputs["call"], inputs["state"]]), told)
        chance = random.Random(told + canonical_json(inputs["call"])).random()
        flagged = chance < self.alarms if right else chance >= self.misses
        return json.dumps({"opinion": "fail" if flagged else "pass", "reason": "by the rules"})


async def find_truth(sandbox: Sandbox, more: list[Call]) -> dict[str, str]:
    """What the right studio does on every call of the list, and on those of its tests."""
    calls = [
        *(
            Call(name=name, arguments=arguments)
            for name, listed in CALLS.items()
            for arguments in listed
        ),
        *more,
    ]
    cases = await play(
        Program.of(make_studio()), [StateCall(STATE, call) for call in calls], sandbox
    )
    return {
        canonical_json([case.asked.call.model_dump(mode="json"), STATE]): case.told
        for case in cases
    }


@asynccontextmanager
async def open_account(reviewers: Reviewers, folder: Path) -> AsyncGenerator[ModelSession]:
    """An account behind the one door, as a run has it."""
    provider, journal = Offline(reviewers.answer, 0.0), Journal(folder / "journal")
    try:
        yield ModelSession(Gateway(provider, journal, {}, 1), "environments-verify", "env_x")
    finally:
        await provider.close()
        await journal.close()
