"""Limit of requests or tokens a minute: an allowance that refills steadily, is reduced when a vendor
answers 429, and recovers."""

from collections import deque

_BURST = (
    2.0  # seconds' worth that may go at once: vendors count in windows much shorter than a minute
)
_SEEN = 10.0  # seconds of the past that say how fast we were when a vendor complained
_ENOUGH, _SHARE = (
    10,
    0.1,
)  # sent in that time, and refused of it: fewer complaints are chance, and the window's to answer
_SLOWED = 0.95  # of what was served
_RECOVERY = 1.05  # per second without complaint: twice as fast after 14 s
_FREE = (
    4.0  # times the rate that met a complaint, after which a rate nobody asked for is lifted again
)


class Rate:
    """Requests or tokens a minute. Time is handed in, so that a test has its own."""

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
        if sent < _ENOUGH or refused < sent * _SHARE or now - self._slowed < _BURST:
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
