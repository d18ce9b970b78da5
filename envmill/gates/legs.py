"""Legs of a tour: one session each, planned so that few sessions show much."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.gates.stops import Echo, Stop, Twin, Why
from envmill.sandbox import Invoke, Look, Reset, Step
from schemas.base import Json
from schemas.environment import Call

READING: tuple[Why, ...] = ("read", "filter", "search")
"""What is asked without any wish to change something."""


@dataclass(frozen=True)
class Leg:
    """One session: a state, calls that lead somewhere, then calls that are looked at."""

    start: Json
    route: tuple[Call, ...]
    calls: tuple[tuple[Why, Call], ...]
    looks: bool = False
    """Whether the state is looked at where the route ends, and after every call that does not only read."""

    def steps(self, reset: Reset) -> Iterator[Step]:
        yield reset
        yield from map(Invoke, self.route)
        if self.looks_first:
            yield Look()
        for why, call in self.calls:
            yield Invoke(call)
            if self.looks_after(why):
                yield Look()

    @property
    def looks_first(self) -> bool:
        """Without a route the state is the one it starts from."""
        return self.looks and bool(self.route)

    def looks_after(self, why: Why) -> bool:
        return self.looks and why not in READING

    def split(self, stops: Sequence[Stop], most: int) -> "Iterator[Leg]":
        """The calls that came behind a change, each in a session of its own."""
        behind = next((number for number, stop in enumerate(stops, 1) if stop.moved), len(stops))
        yield from (Leg(self.start, self.route, (one,), self.looks) for one in self.calls[behind : behind + most])


@dataclass(frozen=True)
class Visit:
    """A state, come to by a write or known from the start, and what is asked and done there."""

    state: Json
    turned: Json
    """The same with its rows the other way round; None when that is not asked."""
    reads: tuple[Call, ...]
    write: Stop | None = None
    seconds: tuple[Call, ...] = ()
    """Changes made there once more, after the reads."""

    def legs(self) -> Iterator[Leg]:
        reads: tuple[tuple[Why, Call], ...] = tuple(("read", call) for call in self.reads)
        seconds: tuple[tuple[Why, Call], ...] = tuple(("drawn", call) for call in self.seconds)
        yield Leg(self.state, (), (*reads, *seconds), looks=True)
        if self.write:
            yield Leg(self.write.start, self.write.route, (*reads, ("drawn", self.write.call), *reads, *seconds), looks=True)
        if self.turned is not None:
            yield Leg(self.turned, (), reads)

    def echoes(self, played: Sequence[Sequence[Stop]]) -> Iterator[Echo]:
        alone, count = played[0], len(self.reads)
        if self.write:
            yield from self._pair("written", alone, played[1][count + 1 :])
        if self.turned is not None:
            yield from self._pair("turned", alone, played[-1])

    def twins(self, played: Sequence[Sequence[Stop]], states: Mapping[str, Json]) -> Iterator[Twin]:
        """Pairs that drew on no chance, whose streams stand elsewhere in the two sessions; from the first that did on, none."""
        if self.write is None:
            return
        count = len(self.reads)
        for one, other in zip(played[1][2 * count + 1 :], played[0][count:], strict=True):
            if one.seen.uses or other.seen.uses or one.after not in states or other.after not in states:
                return
            yield Twin(self.write, one.call, one.seen, other.seen, (states[one.after], states[other.after]))

    def _pair(self, way: str, alone: Iterable[Stop], there: Iterable[Stop]) -> Iterator[Echo]:
        for call, one, other in zip(self.reads, alone, there, strict=False):
            yield Echo("written" if way == "written" else "turned", call, one.seen, other.seen, self.write, self.state)
