"""The course of time: what a program does by itself when the clock moves.

A program that changes with time has two methods: `_next_due()` says, from its state alone, when
something happens next (a
`datetime`, ISO text, or None), and `_fall_due()` makes it happen, with the clock at that moment. Nothing is scheduled outside the
state, so a session restored from its state alone goes on as it would have.
"""

import datetime
from typing import Any

from envmill.runtime.world import World, parse_clock, to_micros

MAX_EVENTS = 10_000
"""Things that may fall due in one advance."""


class Endless(RuntimeError):
    """A program for which time does not pass."""


def pass_time(instance: Any, world: World, target: int) -> None:
    """Let everything due up to the target happen in order, then set the clock to it."""
    next_due = getattr(instance, "_next_due", None)
    due = None
    for _ in range(MAX_EVENTS if next_due else 0):
        due = _read_due(next_due())  # pyright: ignore[reportOptionalCall]
        if due is None or due > target:
            break
        world.clock = max(world.clock, due)
        instance._fall_due()
    else:
        if next_due:
            raise Endless(
                f"After {MAX_EVENTS} events `_next_due` still names a time that is past: "
                "`_fall_due` must settle what fell due."
            )
    world.clock = max(world.clock, target)


def _read_due(due: Any) -> int | None:
    if due is None:
        return None
    return (
        parse_clock(due)
        if isinstance(due, str)
        else to_micros(due)
        if isinstance(due, datetime.datetime)
        else _refuse(due)
    )


def _refuse(due: object) -> int:
    raise TypeError(
        f"`_next_due` must return a datetime, ISO 8601 text or None, not {type(due).__name__}"
    )
