"""Plans of an exploration's sessions, which show much in few sessions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envmill.gates.exploring.observations import ObservedCall, ReadPair, Why, WritePair, is_alike
from envmill.sandbox import Invoke, Look, Reset, Step
from schemas.base import Json
from schemas.environment import Call

READING: tuple[Why, ...] = ("read", "filter", "search", "shared")
"""Purposes of calls that should change nothing."""


@dataclass(frozen=True)
class SessionPlan:
    """One session: a state, the route that leads to another one, then the calls to observe."""

    start: Json
    route: tuple[Call, ...]
    calls: tuple[tuple[Why, Call], ...]
    looks: bool = False
    """Whether the session looks at the state after the route, and after every call that should
    change something."""

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
        """Without a route the state is the start state."""
        return self.looks and bool(self.route)

    def looks_after(self, why: Why) -> bool:
        return self.looks and why not in READING


@dataclass(frozen=True)
class WritePlan:
    """Changes of several tools in a row, the reads before and after them, and changes at the
    end."""

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
        """The state that the changes reached; None if they changed nothing."""
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
    """A state that changes reached or that is a start state, and the reads and changes made
    there."""

    state: Json
    reads: tuple[Call, ...]
    moves: tuple[ObservedCall, ...] = ()
    """Changes that led to the state; none for a start state."""
    told: Sequence[ObservedCall] = ()
    """Answers to the reads in the session that reached the state."""
    final_changes: tuple[Call, ...] = ()
    ends: Sequence[ObservedCall] = ()
    """Results of the final changes in that session."""

    def begin(self, state: Json) -> SessionPlan:
        """The same reads and changes in a session that starts from the state, or from one that is
        equal as JSON."""
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
        """Pairs without randomness, because the two sessions are at different points of their
        random streams. The first pair that used any ends the comparison."""
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
        """Whether all results equal those of the session that reached the state, except where
        chance was used."""
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
