"""An attempt: calls from a start and what is said after them; and how many are played in few
sessions and few messages.

attempts ──go on from each other──► chains, one session each ──► messages
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import orjson

from envmill.gates.base import GateContext
from envmill.kinds.trial import Words
from envmill.language.told import render_leaf
from envmill.sandbox import Invoke, Look, Observation, Reset, Step
from envmill.verifiers.facts import communicates
from schemas.base import Json
from schemas.environment import Call
from schemas.scenario import Fact


@dataclass(frozen=True)
class Attempt:
    """Something to be played from a scenario's start."""

    label: str
    """What is tried, in words."""
    calls: tuple[Call, ...] = ()
    said: Words = ()
    reset: Reset | None = None
    """Another start than the scenario's."""
    place: int = -1
    """Which call it is about, where it is about one."""
    brief: bool = False
    """Whether the first thing amiss is evidence enough."""
    sealed: bool = False
    """Whether it is a sealed probe."""


def pick(attempts: "Sequence[Attempt]", means: GateContext) -> "list[Attempt]":
    """Those that are run, with a note on those that are sealed."""
    return [replace(attempt, sealed=sealed) for attempt, sealed in means.deal(attempts)]


def misstate_questions(path: Sequence[Call], fact: Fact, instead: str) -> tuple[Call, ...]:
    """A reference path whose questions say something else in the place of a fact."""
    value = render_leaf(fact.value)
    return tuple(
        call.model_copy(update={"asks": call.asks.replace(value, instead)})
        if call.asks and communicates(fact, call.asks)
        else call
        for call in path
    )


def find_key(attempt: Attempt) -> bytes:
    """Equal for attempts that make the same calls from the same start."""
    calls = [[call.name, call.arguments, call.actor, *_link(call)] for call in attempt.calls]
    start = attempt.reset and [attempt.reset.clock, attempt.reset.seed, attempt.reset.state]
    try:
        return orjson.dumps([calls, start])
    except TypeError:
        return repr([calls, start]).encode()


def _link(call: Call) -> list[Json]:
    return [call.label, [use.model_dump() for use in call.uses]] if call.label or call.uses else []


def chain_up(attempts: Sequence[Attempt]) -> Iterator[list[Attempt]]:
    """Attempts that go on from where the one before ends share its session: a reset takes as long
    as twenty calls."""
    chain: list[Attempt] = []
    for attempt in attempts:
        if chain and not _goes_on(chain[-1], attempt):
            yield chain
            chain = []
        chain.append(attempt)
    if chain:
        yield chain


def _goes_on(before: Attempt, attempt: Attempt) -> bool:
    made = len(before.calls)
    return (
        before.reset is attempt.reset
        and made < len(attempt.calls)
        and attempt.calls[:made] == before.calls
    )


def plan_chain(chain: Sequence[Attempt], start: Reset) -> Iterator[Step]:
    """One session, with a look at the end of each."""
    yield chain[0].reset or start
    made = 0
    for attempt in chain:
        yield from map(Invoke, attempt.calls[made:])
        yield Look()
        made = len(attempt.calls)


def unchain(chain: Sequence[Attempt], seen: Iterator[Observation]) -> Iterator[list[Observation]]:
    """For each, what it would have been shown in a session of its own."""
    so_far = [next(seen)]
    for attempt in chain:
        so_far += islice(seen, len(attempt.calls) + 1 - len(so_far))
        yield [*so_far, next(seen)]
