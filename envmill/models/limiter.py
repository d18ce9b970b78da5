"""The limiter of one model: who may be sent now, and who waits for what.

enter ─► queue ─► room in the window? ─► no pause asked for? ─► requests and tokens left this minute? ─► sent
                        ▲                        ▲                              ▲
                        └──────── share: what other processes have in flight, and complaints they heard

A complaint that one process heard slows all of them: the limit is the account's.
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from envmill.base.errors import CoordinationError, Throttled
from envmill.lake.coordination.base import Coordinator, Document
from schemas.base import digest

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds, where the vendor names none

_BURST = 2.0  # seconds' worth that may go at once: vendors count in windows far below a minute
_SEEN = 10.0  # seconds of the past that say how fast we were when a vendor complained
_ENOUGH, _REFUSED = 10, 0.1  # sent in that time, and refused of it: fewer complaints are chance
_SLOWED = 0.95  # of what was served
_RECOVERY = 1.05  # per second without complaint: twice as fast after 14 s
_FREE = 4.0  # times the rate that met a complaint: a rate that no setting asked for is lifted then

LOOK = 0.1
"""Seconds between two looks at the others; a process newly there asks nothing until they had time to see it."""
_REMOTE_LOOK = 1.0  # where a look takes a request or more
_IDLE = 2.0  # seconds without a call in flight or waiting, after which the others may have all


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
    """Admits calls of one model in one process; it outlives event loops."""

    def __init__(
        self,
        name: str,
        limits: ModelLimits,
        clock: Callable[[], float] = time.monotonic,
        shares: "Shares | None" = None,
    ) -> None:
        self.name, self.window = name, Window(limits.in_flight)
        self._clock = clock
        self._shares, self._looked = shares, float("-inf")
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
        if self._shares is None or (now := self._clock()) - self._looked < LOOK:
            return
        self._looked, self._share = now, self._share or self._shares.of(self.name)
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


class Window:
    """Additive increase, multiplicative decrease, between one and a ceiling; never more than
    `bound`, which others may lower."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = self.bound = ceiling
        self.size = float(ceiling)
        self.in_flight = 0
        self._shrunk = float("-inf")

    @property
    def open(self) -> bool:
        """Whether one more may go."""
        return self.in_flight < min(int(self.size), self.bound)

    def grow(self) -> None:
        """A reply came: a whole round of them makes room for one more."""
        self.size = min(float(self.ceiling), self.size + 1 / self.size)

    def shrink(self, began: float, now: float) -> bool:
        """A call was refused for being one too many; of those sent together, only the first counts.
        Whether it did."""
        if began < self._shrunk:
            return False
        self.size, self._shrunk = max(1.0, min(self.size, self.in_flight) / 2), now
        return True


class Rate:
    """Limit of requests or tokens a minute: an allowance that refills steadily, is reduced when a
    vendor answers 429, and recovers. Time is handed in, so that a test has its own."""

    def __init__(self, per_minute: float | None, now: float) -> None:
        self._whole = self._ceiling = per_minute
        self.per_minute = per_minute
        self._level, self._filled = self._room(), now
        self._met, self._slowed = 0.0, float("-inf")
        self._taken: deque[tuple[float, float]] = deque()
        self._refused: deque[tuple[float, float]] = deque()

    def delay(self, amount: float, now: float) -> float:
        """Seconds until the amount may be taken. An amount above the allowance goes when the
        allowance is full."""
        self._fill(now)
        if self.per_minute is None:
            return 0.0
        return max(0.0, (min(amount, self._room()) - self._level) * 60 / self.per_minute)

    def take(self, amount: float, now: float) -> None:
        """Count it; what was too large is paid back before the next."""
        self._fill(now)
        self._level -= amount
        _note(self._taken, amount, now)

    def divide(self, holders: int) -> None:
        """So many processes share what was set; what a vendor taught us holds on."""
        if (
            self._whole is None
            or self.per_minute is None
            or self._ceiling == (ceiling := self._whole / holders)
        ):
            return
        self.per_minute = min(self.per_minute, ceiling) if self._met else ceiling
        self._ceiling, self._level = ceiling, min(self._level, self._room())

    def refuse(self, amount: float, now: float) -> None:
        """What was taken was not served."""
        _note(self._refused, amount, now)

    def correct(self, difference: float) -> None:
        """The amount taken turned out larger, or smaller."""
        self._level = min(self._level - difference, self._room())

    def slow_down(self, now: float) -> None:
        """The vendor complained: go on at what it served lately. At most once in a burst, whose
        calls were all sent before we knew."""
        self._fill(now)
        sent, refused = _sum(self._taken, now), _sum(self._refused, now)
        if sent < _ENOUGH or refused < sent * _REFUSED or now - self._slowed < _BURST:
            return
        served = max(sent - refused, sent / 2) * 60 / min(_SEEN, max(1.0, now - self._taken[0][0]))
        self._met = min(served, self.per_minute or served)
        self.per_minute, self._slowed = max(1.0, self._met * _SLOWED), now
        self._level = min(self._level, self._room())

    def _fill(self, now: float) -> None:
        passed, self._filled = max(0.0, now - self._filled), max(now, self._filled)
        if self.per_minute is None:
            return
        self._level = min(self._level + passed * self.per_minute / 60, self._room())
        if self._met:
            self._recover(passed)

    def _recover(self, passed: float) -> None:
        assert self.per_minute is not None
        self.per_minute *= _RECOVERY ** min(passed, 60.0)
        top = self._ceiling if self._ceiling is not None else self._met * _FREE
        if self.per_minute >= top:
            self.per_minute, self._met = self._ceiling, 0.0

    def _room(self) -> float:
        return max(1.0, (self.per_minute or 0.0) * _BURST / 60)


def _note(past: deque[tuple[float, float]], amount: float, now: float) -> None:
    """By the second, so that ten thousand calls a minute are ten entries."""
    if past and now - past[-1][0] < 1.0:
        past[-1] = (past[-1][0], past[-1][1] + amount)
    else:
        past.append((now, amount))
    _forget(past, now)


def _sum(past: deque[tuple[float, float]], now: float) -> float:
    _forget(past, now)
    return sum(amount for _, amount in past)


def _forget(past: deque[tuple[float, float]], now: float) -> None:
    while past and now - past[0][0] > _SEEN:
        past.popleft()


@dataclass(frozen=True)
class SharedLoad:
    """Who asks one model now."""

    holders: int = 1
    """Processes, this one included."""
    elsewhere: int = 0
    """Calls the others have in flight."""
    settled: bool = True
    """Whether the others had time to see us."""
    complaints: int = 0
    """How often the vendor complained to the others since we last looked."""
    pause: float = 0.0
    """Seconds that it asked them to wait."""

    def bound(self, in_flight: int, most: int) -> int:
        """Calls this process may have in flight: its part, reached by no more than its part of what
        is free."""
        if not self.settled:
            return 0
        free = most - self.elsewhere - in_flight
        step = max(free // self.holders, min(free, 1), 0)
        return min(max(most // self.holders, 1), in_flight + step)


@dataclass(frozen=True)
class _Note:
    """What one process says of itself."""

    in_flight: int
    told: float
    """By its own clock."""
    complaints: int = 0
    pause: float = 0.0


class Share:
    """Of one process and model."""

    def __init__(
        self,
        coordinator: Coordinator,
        model: str,
        clock: Callable[[], float] = time.monotonic,
        thread: ThreadPoolExecutor | None = None,
    ) -> None:
        self._coordinator, self._document = coordinator, f"shares/{digest([model])}"
        self._clock, self._thread = clock, thread
        self._look = LOOK if coordinator.local else _REMOTE_LOOK
        self._began = self._looked = clock()
        self._alone = True
        self._in_flight = self._complaints = 0
        self._pause_until = float("-inf")
        self._seen: dict[str, tuple[_Note, float]] = {}
        self._load = SharedLoad(settled=False)
        self._heard, self._heard_pause = 0, 0.0
        self._met = float("-inf")
        self._closed = threading.Event()
        self._telling = threading.Lock()
        self._untold = self._meeting = False

    def exchange(self, in_flight: int) -> SharedLoad:
        """Say what we have in flight, and see who else asks. A remote look is not waited for: the last one counts."""
        now = self._clock()
        if now - self._looked > _IDLE and not in_flight:
            self._began, self._alone = now, True  # the others have forgotten us
        self._looked, self._in_flight = now, in_flight
        if self._coordinator.local:
            self._meet()
        elif now - self._met >= self._look:
            self._meet_soon()
        load, self._heard, self._heard_pause = self._load, 0, 0.0
        self._load = SharedLoad(load.holders, load.elsewhere, load.settled)
        return load

    def publish(self, in_flight: int) -> None:
        """Say what we have in flight, and nothing else."""
        self._in_flight = in_flight
        if self._coordinator.local:
            self._coordinator.change(self._document, self._announce)
        else:
            self._meet_soon()

    def complain(self, pause: float) -> None:
        """The vendor complained, and wants to be left alone for so long."""
        self._complaints += 1
        self._pause_until = self._clock() + pause
        self.publish(self._in_flight)

    def stop(self) -> None:
        """Look no more."""
        self._closed.set()

    def close(self) -> None:
        """Leave the limits to the others."""
        with contextlib.suppress(CoordinationError):  # once we are dead they know
            self._coordinator.change(
                self._document, lambda document: document.pop(self._coordinator.own, None)
            )

    def _meet_soon(self) -> None:
        with self._telling:
            self._untold = True
            if not self._meeting and self._thread is not None:
                self._meeting = True
                self._thread.submit(self._meet_until_told)

    def _meet_until_told(self) -> None:
        """In a thread: what changes during a look is told by the next one."""
        while True:
            with self._telling:
                if not self._untold or self._closed.is_set():
                    self._meeting = False
                    return
                self._untold = False
            self._met = self._clock()
            with contextlib.suppress(CoordinationError):  # the last look holds on
                self._meet()
            self._closed.wait(self._look / 2)

    def _meet(self) -> None:
        notes = self._coordinator.change(self._document, self._announce)
        now = self._clock()
        others = {name: note for name, note in notes.items() if name != self._coordinator.own}
        ages = {name: self._age(name, note, now) for name, note in others.items()}
        dead = [
            name
            for name in others
            if (self._coordinator.local or ages[name] > _IDLE) and self._coordinator.is_dead(name)
        ]
        if dead:
            self._coordinator.change(
                self._document, lambda document: [document.pop(name, None) for name in dead]
            )
        living = {name: note for name, note in others.items() if name not in dead}
        self._note_complaints(living)
        self._seen = {name: (note, now - ages[name]) for name, note in living.items()}
        asking = [
            note.in_flight for name, note in living.items() if note.in_flight or ages[name] < _IDLE
        ]
        self._alone = self._alone and not asking
        settled = self._alone or now - self._began > 2 * self._look
        self._load = SharedLoad(
            1 + len(asking), sum(asking), settled, self._heard, self._heard_pause
        )

    def _announce(self, document: Document) -> dict[str, _Note]:
        now = self._clock()
        document[self._coordinator.own] = [
            self._in_flight,
            now,
            self._complaints,
            max(0.0, self._pause_until - now),
        ]
        return {name: _Note(*said) for name, said in document.items()}

    def _age(self, name: str, note: _Note, now: float) -> float:
        """Clocks of one machine agree, since they count from its start; of another's we know when we first saw what it told."""
        if self._coordinator.local:
            return now - note.told
        last = self._seen.get(name)
        return now - last[1] if last is not None and last[0].told == note.told else 0.0

    def _note_complaints(self, living: dict[str, _Note]) -> None:
        """Complaints that others heard since we looked last."""
        for name, note in living.items():
            last = self._seen.get(name)
            if last is not None and note.complaints > last[0].complaints:
                self._heard += note.complaints - last[0].complaints
                self._heard_pause = max(self._heard_pause, note.pause)


def is_limited(provider: str) -> bool:
    """Whether somebody outside bears the calls of a provider; batches go out at once and are read
    back."""
    return provider not in ("offline", "replay") and not provider.startswith("batch-")


class Shares:
    """The shares of one process, by model. Limits are those of an account, so they are shared
    across runs."""

    def __init__(
        self, coordinator: Coordinator, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._coordinator, self._clock = coordinator, clock
        self._thread = None if coordinator.local else ThreadPoolExecutor(8, "envmill-shares")
        self._open: dict[str, Share] = {}

    def of(self, model: str) -> Share:
        """Our share of a model's limits."""
        if model not in self._open:
            self._open[model] = Share(self._coordinator, model, self._clock, self._thread)
        return self._open[model]

    def close(self) -> None:
        """Leave all limits to the others."""
        for share in self._open.values():
            share.stop()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        for share in self._open.values():
            share.close()
        self._open.clear()
