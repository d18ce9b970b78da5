"""The limiter of one model: who may be sent now, and who waits for what.

enter ─► queue ─► room in the window? ─► no pause asked for? ─► requests and tokens left this minute? ─► sent

Where several processes ask one model, each holds itself to its share of what was set.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from envmill.base.errors import Throttled
from envmill.models.rate import Rate
from envmill.models.share import LOOK, Share
from envmill.models.window import Window

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds, where the vendor names none


@dataclass(frozen=True)
class ModelLimits:
    """What one model may be asked."""

    in_flight: int = 64
    """Most calls at once."""
    requests: float | None = None
    """Most requests a minute; None until the vendor complains."""
    tokens: float | None = None
    """Most tokens a minute, input and output."""


@dataclass(eq=False)
class Admission:
    """One call that was let through."""

    tokens: float
    """Tokens it was counted with."""
    began: float
    """When it was let through."""
    loop: asyncio.AbstractEventLoop


@dataclass(frozen=True)
class _Waiting:
    tokens: float
    turn: "asyncio.Future[Admission]"


class Limiter:
    """One per process and model; it outlives event loops."""

    def __init__(
        self,
        name: str,
        limits: ModelLimits,
        clock: Callable[[], float] = time.monotonic,
        share: Callable[[], Share] | None = None,
    ) -> None:
        self.name, self.window = name, Window(limits.in_flight)
        self._clock = clock
        self._open_share, self._looked = share, float("-inf")
        self._share: Share | None = None
        self.requests, self.tokens = Rate(limits.requests, clock()), Rate(limits.tokens, clock())
        self._paused_until = float("-inf")
        self._complaints = 0
        self._queue: deque[_Waiting] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pause(self) -> float:
        """Seconds until the vendor wants to hear from us again."""
        return max(0.0, self._paused_until - self._clock())

    async def enter(self, tokens: float, patience: float, again: bool = False) -> Admission:
        """Wait for one's turn. A retry goes before those who were never sent; a pause longer than
        our patience is an error at once."""
        self._meet_loop()
        if self.pause > patience:
            raise Throttled(
                f"{self.name} asked to be left alone for another {self.pause:.0f} s, longer than "
                f"a call may take ({patience:.0f} s). "
                "Run again later: everything finished is saved.",
                retry_after=self.pause,
            )
        self._poll()
        if not self._queue and self._delay(tokens) == 0.0 and self.window.open:
            return self._let_through(tokens)
        waiting = _Waiting(tokens, asyncio.get_running_loop().create_future())
        self._queue.appendleft(waiting) if again else self._queue.append(waiting)
        self._pump()
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            self._give_up(waiting)
            raise

    def answered(self, passage: Admission, tokens: float) -> None:
        """A reply came, and took so many tokens."""
        self.tokens.correct(tokens - passage.tokens)
        self.window.grow()
        self._complaints = 0

    def throttled(self, passage: Admission, retry_after: float | None) -> None:
        """The vendor wants less: fewer at once, slower, and nothing at all until the time it
        named."""
        now = self._clock()
        pause = retry_after or 0.0
        self.requests.refuse(1, now)
        if self.window.shrink(passage.began, now):
            self.requests.slow_down(now)
            self._complaints += 1
            pause = (
                min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._complaints - 1, 10))
                if retry_after is None
                else pause
            )
        self._paused_until = max(self._paused_until, now + pause)
        if self._share is not None:
            self._share.complain(pause)

    def leave(self, passage: Admission) -> None:
        """However the call ended."""
        if passage.loop is self._loop:
            self._count(-1)
            self._pump()

    def _delay(self, tokens: float) -> float:
        now = self._clock()
        return max(
            self._paused_until - now,
            self.requests.delay(1, now),
            self.tokens.delay(tokens, now),
            0.0,
        )

    def _let_through(self, tokens: float) -> Admission:
        now = self._clock()
        self.requests.take(1, now)
        self.tokens.take(tokens, now)
        self._count(1)
        return Admission(tokens, now, asyncio.get_running_loop())

    def _pump(self) -> None:
        """Let through whoever may go; wake up when the next may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._poll()
        while self._queue and self.window.open:
            if self._queue[0].turn.done():
                self._queue.popleft()
            elif (delay := self._delay(self._queue[0].tokens)) > 0:
                self._wake(delay)
                return
            else:
                waiting = self._queue.popleft()
                waiting.turn.set_result(self._let_through(waiting.tokens))
        if self._queue and self._share is not None:
            self._wake(LOOK)  # what we wait for may be another process's

    def _wake(self, delay: float) -> None:
        """A share may grow while one waits for a long minute to pass."""
        delay = delay if self._share is None else min(delay, 10 * LOOK)
        self._timer = asyncio.get_running_loop().call_later(delay, self._pump)

    def _poll(self) -> None:
        """See who else asks this model, if that was not just done."""
        if self._open_share is None or (now := self._clock()) - self._looked < LOOK:
            return
        self._looked, self._share = now, self._share or self._open_share()
        crowd = self._share.exchange(self.window.in_flight)
        if crowd.complaints and self.window.in_flight:
            self.window.shrink(now - LOOK, now)  # once, where we heard it ourselves
        self._paused_until = max(self._paused_until, now + crowd.pause)
        self.window.bound = crowd.bound(self.window.in_flight, self.window.ceiling)
        self.requests.divide(crowd.holders)
        self.tokens.divide(crowd.holders)

    def _count(self, change: int) -> None:
        """Calls in flight, which the others may count on."""
        self.window.in_flight += change
        if self._share is not None:
            self._share.publish(self.window.in_flight)

    def _give_up(self, waiting: _Waiting) -> None:
        """Cancelled; perhaps in the moment its turn came."""
        if waiting.turn.done() and not waiting.turn.cancelled():
            self.leave(waiting.turn.result())
        elif waiting in self._queue:
            self._queue.remove(waiting)
            self._pump()

    def _meet_loop(self) -> None:
        """What waited or flew on another loop died with it."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._timer = loop, None
            self._queue.clear()
            self._count(-self.window.in_flight)
