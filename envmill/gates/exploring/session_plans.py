"""Legs of a tour: one session each, planned so that few sessions show much."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envmill.gates.exploring.observations import ObservedCall, ReadPair, Why, WritePair, is_alike
from envmill.sandbox import Invoke, Look, Reset, Step
from schemas.base import Json
from schemas.environment import Call

READING: tuple[Why, ...] = ("read", "filter", "search", "shared")
"""What is asked without any wish to change something."""


@dataclass(frozen=True)
class SessionPlan:
    """One session: a state, calls that lead somewhere, then calls that are looked at."""

    start: Json
    route: tuple[Call, ...]
    calls: tuple[tuple[Why, Call], ...]
    looks: bool = False
    """Whether the state is looked at where the route ends, and after every call that does not only
    read."""

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


@dataclass(frozen=True)
class WritePlan:
    """Changes of several tools one after the other, what is read before and after them, and changes
    made at the end."""

    start: Json
    calls: tuple[Call, ...]
    reads: tuple[Call, ...]
    final_changes: tuple[Call, ...] = ()

    def plan(self) -> SessionPlan:
        reads, ends = _as("read", self.reads), _as("drawn", self.final_changes)
        return SessionPlan(
            self.start, (), (*reads, *_as("drawn", self.calls), *reads, *ends), looks=True
        )

    def arrive(
        self, calls: Sequence[ObservedCall], states: Mapping[str, Json]
    ) -> "VisitedState | None":
        """Where it came to; None when it changed nothing."""
        first, last = len(self.reads), len(self.reads) + len(self.calls)
        moves = tuple(
            observed
            for observed in calls[first:last]
            if observed.moved and observed.seen.outcome == "ok"
        )
        state = states.get(calls[last - 1].after)
        if not moves or state is None:
            return None
        return VisitedState(
            state,
            self.reads,
            moves,
            calls[last : last + first],
            self.final_changes,
            calls[last + first :],
        )


@dataclass(frozen=True)
class VisitedState:
    """A state, come to by changes or known from the start, and what was asked and done there."""

    state: Json
    reads: tuple[Call, ...]
    moves: tuple[ObservedCall, ...] = ()
    """What led there; nothing for a state that is known."""
    told: Sequence[ObservedCall] = ()
    """What the reads were answered in the session that came there."""
    final_changes: tuple[Call, ...] = ()
    ends: Sequence[ObservedCall] = ()
    """What came there of the changes at the end."""

    def begin(self, state: Json) -> SessionPlan:
        """The same in a session that starts there, or on a state that is equal as JSON."""
        return SessionPlan(
            state, (), (*_as("read", self.reads), *_as("drawn", self.final_changes)), looks=True
        )

    def pair_reads(
        self,
        way: Literal["written", "turned"],
        one: Sequence[ObservedCall],
        other: Sequence[ObservedCall],
    ) -> Iterator[ReadPair]:
        for call, here, there in zip(self.reads, one, other, strict=False):
            yield ReadPair(way, call, here.seen, there.seen, self.moves, self.state)

    def pair_ends(
        self, alone: Sequence[ObservedCall], states: Mapping[str, Json]
    ) -> Iterator[WritePair]:
        """Pairs that drew on no chance, whose streams stand elsewhere in the two sessions; from the
        first that did on, none."""
        for one, other in zip(self.ends, alone[len(self.reads) :], strict=False):
            if (
                one.seen.uses
                or other.seen.uses
                or one.after not in states
                or other.after not in states
            ):
                return
            yield WritePair(
                self.moves[-1],
                one.call,
                one.seen,
                other.seen,
                (states[one.after], states[other.after]),
            )

    def agrees(self, alone: Sequence[ObservedCall]) -> bool:
        """Whether nothing came out otherwise than in the session that came there; what drew on
        chance may."""
        if len(self.told) < len(self.reads):
            return False
        reads = all(
            is_alike(one.seen, other.seen) for one, other in zip(self.told, alone, strict=False)
        )
        ends = zip(self.ends, alone[len(self.reads) :], strict=False)
        return reads and all(
            bool(one.seen.uses)
            or (one.after, one.seen.outcome) == (other.after, other.seen.outcome)
            for one, other in ends
        )


def _as(why: Why, calls: Sequence[Call]) -> tuple[tuple[Why, Call], ...]:
    return tuple((why, call) for call in calls)
