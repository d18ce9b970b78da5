"""Attempts: calls from a start with the agent's words after them. Many of them share sessions and
messages.

attempts ──those that extend the one before──► chains, one session each ──► messages
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
    """Calls to play from a scenario's start, and the words after them."""

    label: str
    """What the attempt tries, in words."""
    calls: tuple[Call, ...] = ()
    said: Words = ()
    reset: Reset | None = None
    """A start that replaces the scenario's."""
    place: int = -1
    """Position of the call under test, if there is one."""
    brief: bool = False
    """Whether the first failed check is evidence enough."""
    sealed: bool = False


def pick(attempts: "Sequence[Attempt]", means: GateContext) -> "list[Attempt]":
    """Attempts of this run, marked where they are sealed."""
    return [replace(attempt, sealed=sealed) for attempt, sealed in means.deal(attempts)]


def misstate_questions(path: Sequence[Call], fact: Fact, instead: str) -> tuple[Call, ...]:
    """The reference path with another value instead of the fact in its questions."""
    value = render_leaf(fact.value)
    return tuple(
        call.model_copy(update={"asks": call.asks.replace(value, instead)})
        if call.asks and communicates(fact, call.asks)
        else call
        for call in path
    )


def find_key(attempt: Attempt) -> bytes:
    """A key that is equal for attempts with the same calls and start."""
    calls = [[call.name, call.arguments, call.actor, *_link(call)] for call in attempt.calls]
    start = attempt.reset and [attempt.reset.clock, attempt.reset.seed, attempt.reset.state]
    try:
        return orjson.dumps([calls, start])
    except TypeError:
        return repr([calls, start]).encode()


def _link(call: Call) -> list[Json]:
    return [call.label, [use.model_dump() for use in call.uses]] if call.label or call.uses else []


def chain_up(attempts: Sequence[Attempt]) -> Iterator[list[Attempt]]:
    """An attempt that extends the one before it shares its session, because a reset takes as long
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
    """Steps of one session, which looks at the state at the end of each attempt."""
    yield chain[0].reset or start
    made = 0
    for attempt in chain:
        yield from map(Invoke, attempt.calls[made:])
        yield Look()
        made = len(attempt.calls)


def unchain(chain: Sequence[Attempt], seen: Iterator[Observation]) -> Iterator[list[Observation]]:
    """For each attempt, the observations of a session of its own."""
    so_far = [next(seen)]
    for attempt in chain:
        so_far += islice(seen, len(attempt.calls) + 1 - len(so_far))
        yield [*so_far, next(seen)]
