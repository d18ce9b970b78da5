"""The caller of one model: limiter, breaker, retries and deadline around its provider.

limiter ─► breaker ─► provider ──outage──► pause ─► again, before those who were never sent

breaker: closed ──many in a row fail──► open ──time──► one call tries ──answered──► closed
                                         ▲───────────────not answered─┘  (twice the time)
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from envmill.base.errors import BadRequest, KeyRefused, Outage, Throttled, TimeOver
from envmill.models.base import Completion, Provider, Request, Usage
from envmill.models.budget import Deferred
from envmill.models.limiter import Admission, Limiter, ModelLimits, Shares
from envmill.models.prompt_statistics import PromptStatistics

PAUSES = (0.3, 1.2, 5.0)
"""Seconds. A longer outage is the run's to wait out."""

_IN_A_ROW = 24  # sendings, retries included: six calls with all their retries
_SILENCE = 5.0  # seconds they span at least: a moment's hiccup fails everything that is in flight
_FIRST_REST, _LONGEST_REST = 15.0, 240.0  # seconds


@dataclass(frozen=True)
class Retries:
    """For outages alone. One place retries: vendors' libraries, providers and recipes do not."""

    pauses: tuple[float, ...] = field(default_factory=lambda: PAUSES)
    """Before each retry of an outage, give or take half, so that many callers do not come back
    together."""
    deadline: float = 900.0
    """Seconds a call may take from its first sending, retries included. One sending may take them
    all: a server that works on a
    request would be paid for both if it were sent again."""

    def pause(self, error: Outage, failed: int, left: float, chance: random.Random) -> float | None:
        """Seconds to wait before asking again; None when it has been enough. Throttled calls wait
        in the limiter instead."""
        if isinstance(error, Throttled):
            wait = error.facts.get("retry_after") or 0.0
            return 0.0 if wait < left else None
        if failed > len(self.pauses):
            return None
        wait = self.pauses[failed - 1] * chance.uniform(0.5, 1.5)
        return wait if wait < left else None


@dataclass
class Effort:
    """What one call took until it ended, however it ended."""

    asked: float
    """When it was asked for."""
    sent: float | None = None
    """When it was first sent; None if it never was."""
    retries: int = 0
    unanswered: int = 0
    """Sendings that the server had whole and gave no usable answer to: each may have been paid
    for."""
    _tokens: int = 0
    _cost: float | None = 0.0

    def foresee(self, tokens: int, cost: float | None) -> None:
        """What each sending may take."""
        self._tokens, self._cost = tokens, cost

    @property
    def possibly_paid(self) -> tuple[int, float | None]:
        """Tokens and money that sendings without an answer may have taken; no money where the price
        is unknown."""
        if not self.unanswered:
            return 0, 0.0
        return (
            self.unanswered * self._tokens,
            None if self._cost is None else self.unanswered * self._cost,
        )

    @property
    def waited(self) -> float:
        return 0.0 if self.sent is None else self.sent - self.asked

    def latency(self, now: float) -> float:
        """Seconds since it was first sent."""
        return 0.0 if self.sent is None else now - self.sent


class Caller:
    """One per process and model."""

    def __init__(
        self,
        provider: Provider,
        limits: ModelLimits,
        retries: Retries,
        chance: random.Random,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares | None = None,
    ) -> None:
        self.name = f"{provider.name}:{provider.model}"
        self.provider, self.experience = provider, PromptStatistics()
        self.limiter = Limiter(self.name, limits, clock, shares)
        self.breaker = Breaker(self.name, clock)
        self._retries, self._chance, self._clock = retries, chance, clock
        self._refused: KeyRefused | None = None

    async def call(self, request: Request, expected: Usage, effort: Effort) -> Completion:
        """One completion, or what became of it once retries, patience or the breaker have had their
        say."""
        failed = 0
        while True:
            try:
                return await self._send(request, expected.total, effort)
            except Outage as error:
                failed += not isinstance(error, Throttled)
                effort.unanswered += bool(error.facts.get("sent")) and not isinstance(
                    self.provider, Deferred
                )
                pause = self._retries.pause(error, failed, self._left(effort), self._chance)
                if pause is None or effort.sent is None or self.breaker.open:
                    raise
            effort.retries += 1
            await asyncio.sleep(pause)

    async def _send(self, request: Request, tokens: int, effort: Effort) -> Completion:
        passage = await self._enter(tokens, effort)
        try:
            if self._refused is not None:
                raise KeyRefused(self._refused.message, **self._refused.facts)
            tried = self.breaker.check()
            effort.sent = self._clock() if effort.sent is None else effort.sent
            return await self._try_once(request, passage, tried, effort)
        finally:
            self.limiter.leave(passage)

    async def _enter(self, tokens: int, effort: Effort) -> Admission:
        """Who was never sent waits as long as it takes; a retry only until its deadline, and says
        then why it was held back."""
        if effort.sent is None:
            return await self.limiter.enter(tokens, self._left(effort))
        try:
            async with asyncio.timeout(self._left(effort)):
                return await self.limiter.enter(tokens, self._left(effort), again=True)
        except TimeoutError:
            raise Throttled(
                f"{self.name} asked to be asked less, and the call's {self._retries.deadline:.0f} "
                "s are over. "
                "Fewer calls at once, or another model; run again later: everything finished is "
                "saved.",
                retry_after=None,
            ) from None

    async def _try_once(
        self, request: Request, passage: Admission, tried: bool, effort: Effort
    ) -> Completion:
        """Tell limiter and breaker what came."""
        try:
            completion = await self._complete(request, self._left(effort))
        except Throttled as error:
            self.limiter.throttled(passage, error.facts.get("retry_after"))
            self.breaker.let_go(tried)
            raise
        except Outage as error:
            self.breaker.failed(error.message, tried)
            raise
        except (KeyRefused, BadRequest) as error:
            self._refused = error if isinstance(error, KeyRefused) else self._refused
            self.breaker.answered()
            raise
        except BaseException:
            self.breaker.let_go(tried)
            raise
        self.limiter.answered(passage, completion.usage.total)
        self.breaker.answered()
        return completion

    async def _complete(self, request: Request, seconds: float) -> Completion:
        try:
            async with asyncio.timeout(seconds):
                return await self.provider.complete(request)
        except TimeoutError:
            raise TimeOver(
                f"{self.name} did not answer {request.prompt.name} for {request.subject} within "
                f"{seconds:.0f} s. "
                "Look whether it is overloaded, or allow more time with ENVMILL_CALL_SECONDS, "
                "then run again.",
                sent=True,
            ) from None

    def _left(self, effort: Effort) -> float:
        return max(0.0, self._retries.deadline - effort.latency(self._clock()))


class Breaker:
    """Counts sendings that nobody answered, since the last that somebody did."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self._clock = name, clock
        self._failed, self._rest, self._said = 0, _FIRST_REST, ""
        self._silent_since = 0.0
        self._opens_at: float | None = None
        self._trying = False

    @property
    def open(self) -> bool:
        """Whether calls are refused for now."""
        return self._opens_at is not None

    def check(self) -> bool:
        """Refuse while open; whether this call is the one that tries."""
        if self._opens_at is None:
            return False
        if self._trying or self._clock() < self._opens_at:
            raise Outage(
                f"{self.name} answered none of the last {self._failed} requests, so it is not "
                "asked for now. The last one said: "
                f"{self._said} {self._render_rest()} Once it answers again, run again: everything "
                "finished is saved."
            )
        self._trying = True
        return True

    def answered(self) -> None:
        """Any answer, a refusal of the request too: somebody is there."""
        self._failed, self._rest, self._opens_at, self._trying = 0, _FIRST_REST, None, False

    def failed(self, said: str, tried: bool) -> None:
        """A sending had no answer."""
        now = self._clock()
        self._silent_since = self._silent_since if self._failed else now
        self._failed, self._said = self._failed + 1, said
        if tried:
            self._rest, self._trying = min(self._rest * 2, _LONGEST_REST), False
        if tried or (
            self._opens_at is None
            and self._failed >= _IN_A_ROW
            and now - self._silent_since >= _SILENCE
        ):
            self._opens_at = now + self._rest

    def let_go(self, tried: bool) -> None:
        """The call was given up before anything was learnt; another may try."""
        if tried:
            self._trying = False

    def _render_rest(self) -> str:
        rest = (self._opens_at or 0.0) - self._clock()
        return "One call is trying." if rest <= 0 else f"One call tries again in {rest:.0f} s."
