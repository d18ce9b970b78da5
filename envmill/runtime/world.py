"""Virtual time, ids and randomness of the running session: one instance per process, set back at
every reset."""

import datetime
from functools import lru_cache
from random import Random
from typing import Any, Literal

from envmill.runtime.notice import Outbox
from envmill.runtime.streams import load_stream, save_stream

Source = Literal["clock", "ids", "randomness"]

MICRO = 1_000_000
"""Microseconds in a second; the clock counts in them, so that no float rounding enters a state."""


class SeededRandom(Random):
    """A generator that counts its draws in the world it belongs to."""

    _due: int | None = None

    def __new__(cls, world: "World", seed: int) -> "SeededRandom":  # noqa: ARG004
        return super().__new__(cls)

    def __init__(self, world: "World", seed: int) -> None:
        self.world = world
        super().__init__(seed)

    def put_off(self, seed: int) -> None:
        """Start over at a seed, when it is first drawn from: it takes as long as a call does, and
        few programs draw."""
        self._due, self.gauss_next = seed, None

    def random(self) -> float:
        self.world.uses["randomness"] += 1
        if self._due is not None:
            self.seed(self._due)
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        self.world.uses["randomness"] += 1
        if self._due is not None:
            self.seed(self._due)
        return super().getrandbits(k)

    def seed(self, a: Any = None, version: int = 2) -> None:
        self._due = None
        super().seed(a, version)

    def getstate(self) -> tuple[Any, ...]:
        if self._due is not None:
            self.seed(self._due)
        return super().getstate()

    def setstate(self, state: tuple[Any, ...]) -> None:
        self._due = None
        super().setstate(state)


class World:
    """What a program may not take from the machine. Ids and draws are separate streams: neither
    shifts the other."""

    def __init__(self) -> None:
        self.reset(0, 0)

    def reset(self, clock: int, seed: int) -> None:
        """Start over at a clock (microseconds since 1970 UTC) and a seed."""
        self.clock = clock
        self.seed = seed
        self.uses: dict[Source, int] = {"clock": 0, "ids": 0, "randomness": 0}
        self.outbox = Outbox()
        self._ids: Random | None = None
        self._rng: SeededRandom | None = None

    def read_clock(self) -> int:
        """The virtual time, counted as a use."""
        self.uses["clock"] += 1
        return self.clock

    def advance(self, seconds: float) -> None:
        self.clock += round(seconds * MICRO)

    def make_id(self) -> str:
        self.uses["ids"] += 1
        return f"{self._id_stream().getrandbits(32):08x}"

    def rng(self) -> SeededRandom:
        if self._rng is None:
            self._rng = SeededRandom(self, self.seed)
        return self._rng

    def snapshot(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "clock": self.clock,
            "seed": self.seed,
            "uses": dict(self.uses),
            "outbox": self.outbox.snapshot(),
            "ids": save_stream(self._id_stream()),
            "rng": save_stream(self.rng()),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot. Streams are put back in place, since a program may hold one."""
        self.clock, self.seed = snapshot["clock"], snapshot["seed"]
        self.outbox.restore(snapshot["outbox"])
        load_stream(self._id_stream(), snapshot["ids"])
        load_stream(self.rng(), snapshot["rng"])
        # Last: setting streams back may count as drawing from them.
        self.uses = {
            "clock": snapshot["uses"]["clock"],
            "ids": snapshot["uses"]["ids"],
            "randomness": snapshot["uses"]["randomness"],
        }

    def _id_stream(self) -> Random:
        if self._ids is None:
            self._ids = Random(f"{self.seed}/ids")
        return self._ids


WORLD = World()


def now() -> datetime.datetime:
    """The virtual time, aware, UTC."""
    # `datetime.datetime` is looked up at each call: in the jail it is the virtual class.
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return epoch + datetime.timedelta(microseconds=WORLD.read_clock())


def new_id(prefix: str) -> str:
    """A fresh id such as `loan_3f9c1a2b`; the same seed gives the same ids in the same order."""
    return f"{prefix}_{WORLD.make_id()}"


def rng() -> Random:
    """The session's random generator."""
    return WORLD.rng()


def notify(actor: str, text: str, at: datetime.datetime | None = None) -> None:
    """Tell an actor something, now or at a later time; it is delivered when time next passes that
    moment."""
    WORLD.outbox.post(WORLD.clock if at is None else max(WORLD.clock, to_micros(at)), actor, text)


@lru_cache(64)
def parse_clock(text: str) -> int:
    """Microseconds since 1970 UTC of an ISO 8601 text; one without an offset is taken as UTC."""
    return to_micros(datetime.datetime.fromisoformat(text))


def to_micros(moment: datetime.datetime) -> int:
    """Microseconds since 1970 UTC of a moment; one without a zone is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
        microseconds=1
    )
