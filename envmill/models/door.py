"""The one door to every model: ask → retry outages → parse → journal → typed record or typed failure."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from weakref import WeakValueDictionary

from envmill.errors import BadReply, Outage
from envmill.lake.journal import Journal
from envmill.models.base import Completion, Message, Provider, Request, Spent
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from schemas.base import Contract
from schemas.ledger import ModelCall

C = TypeVar("C", bound=Contract)

_BACKOFF = (0.2, 0.8)  # seconds before the retries of an outage; a longer one is the run's to wait out
_REPAIRS = 2
_IN_FLIGHT = 64


@dataclass(frozen=True)
class Unusable:
    """A reply that cannot become a record."""

    text: str
    complaint: str


class Door:
    """One per process and run. A question that has its reply is never asked again, nor twice at once."""

    def __init__(self, provider: Provider, journal: Journal, known: dict[tuple[str, int], ModelCall], seed: int) -> None:
        self.provider, self.seed = provider, seed
        self._journal, self._known = journal, known
        self._slots = asyncio.Semaphore(_IN_FLIGHT)
        self._asking: WeakValueDictionary[tuple[str, int], asyncio.Lock] = WeakValueDictionary()

    def account(self, step: str, subject: str) -> "Account":
        """What one subject of one step asks, and what that costs."""
        return Account(self, step, subject)

    async def complete(self, request: Request, reply: type[C], spent: Spent) -> "C | Unusable":
        """One request; returns its parsed record, or the reply and what is wrong with it."""
        key, began = request.key(self.provider.model), time.monotonic()
        async with self._asking.setdefault((key, request.sample), asyncio.Lock()):
            known = self._known.get((key, request.sample))
            if known is not None:
                completion, retries = Completion(known.reply, cost=0.0), 0
            else:
                completion, retries = await self._reach(request, key)
                spent.add(completion)
            parsed = parse_reply(completion.text, reply)
            outcome = "failure" if isinstance(parsed, str) else "reply"
            entry = self._entry(request, key, outcome, completion, retries, time.monotonic() - began, reused=known is not None)
            await self._journal.append(entry)
            self._known.setdefault((key, request.sample), entry)
        return Unusable(completion.text, parsed) if isinstance(parsed, str) else parsed

    async def _reach(self, request: Request, key: str) -> tuple[Completion, int]:
        began = time.monotonic()
        for retry, pause in enumerate((*_BACKOFF, None)):
            try:
                async with self._slots:
                    return await self.provider.complete(request), retry
            except Outage:
                if pause is None:
                    entry = self._entry(request, key, "outage", Completion("", cost=0.0), retry, time.monotonic() - began)
                    await self._journal.append(entry)
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last pause is None")

    def _entry(
        self, request: Request, key: str, outcome: str, completion: Completion, retries: int, latency: float, reused: bool = False
    ) -> ModelCall:
        return ModelCall.model_validate(
            {
                "request": key,
                "sample": request.sample,
                "ordinal": self._journal.next_ordinal(),
                "step": request.step,
                "subject": request.subject,
                "prompt": request.prompt.name,
                "prompt_hash": request.prompt.hash,
                "provider": self.provider.name,
                "model": self.provider.model,
                "outcome": outcome,
                "reused": reused,
                "retries": retries,
                "tokens_in": 0 if reused else completion.tokens_in,
                "tokens_out": 0 if reused else completion.tokens_out,
                "cost": completion.cost,
                "latency": latency,
                "asked_at": datetime.now(UTC).isoformat(),
                "reply": "" if reused else completion.text,
            }
        )


class Account:
    """The door as one subject sees it."""

    def __init__(self, door: Door, step: str, subject: str) -> None:
        self.spent = Spent()
        self.provider, self.model = door.provider.name, door.provider.model
        self._door, self._step, self._subject = door, step, subject

    async def ask(self, prompt: Prompt, inputs: Contract, reply: type[C]) -> C:
        """A typed record; BadReply once bounded repair has not helped; Outage when nobody answers."""
        asked = Message("user", prompt.render(inputs, reply))
        messages: tuple[Message, ...] = (asked,)
        complaint = ""
        for sample in range(1 + _REPAIRS):
            request = Request(prompt, inputs.model_dump(mode="json"), messages, reply, self._door.seed, sample, self._step, self._subject)
            answer = await self._door.complete(request, reply, self.spent)
            if not isinstance(answer, Unusable):
                return answer
            complaint = answer.complaint
            again = f"Your last reply could not be used. {complaint} Reply again with the whole JSON object."
            messages = (asked, Message("assistant", answer.text), Message("user", again))
        raise BadReply(f"{prompt.name} for {self._subject}: no usable reply after {_REPAIRS} repairs. {complaint}")
