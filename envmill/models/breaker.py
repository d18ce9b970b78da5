"""The breaker of one model: once nobody has answered for long, calls fail at once instead of
waiting too.

closed ──many in a row fail──► open ──time──► one call tries ──answered──► closed
                                 ▲───────────────not answered─┘  (twice the time)
"""

import time
from collections.abc import Callable

from envmill.base.errors import Outage

_IN_A_ROW = 24  # sendings, retries included: six calls with all their retries
_SILENCE = 5.0  # seconds they span at least: a moment's hiccup fails everything that is in flight
_FIRST_REST, _LONGEST_REST = 15.0, 240.0  # seconds


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
