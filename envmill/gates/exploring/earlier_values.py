"""Calls that set a number, on states in which that number was another one before."""

from collections.abc import Iterator, Sequence

from envmill.gates.exploring.boundary_calls import (
    BoundaryCase,
    MovedCall,
    Place,
    is_number,
    list_near,
    observe,
    pick,
    take_in_turn,
)
from envmill.gates.review import ReviewedCall
from envmill.sandbox import Program, Sandbox
from schemas.base import Json

_STEPS = (3, 1, 7, 2, 20, -1)
"""Differences to try; rules forbid some of them."""
_MOVES = 24

_Way = tuple[str, str, str]
"""Tool, column, and the argument that names the row."""


async def find_earlier_values(
    cases: Sequence[ReviewedCall], most: int, program: Program, sandbox: Sandbox
) -> list[BoundaryCase]:
    """One case for each tool and number, of calls that also succeed on the moved states."""
    groups: dict[_Way, list[list[MovedCall]]] = {}
    for case in cases:
        for place, value in _list_set(case) if case.seen.outcome == "ok" else ():
            moves = [MovedCall(case, place, value + step) for step in _STEPS if value + step >= 0]
            groups.setdefault(_name_way(case, place), []).append(moves)
    tried = [(way, move) for way, queues in groups.items() for move in take_in_turn(queues, _MOVES)]
    seen = await observe(program, [move.asked for _, move in tried], sandbox)
    done: dict[_Way, list[MovedCall]] = {}
    for (way, move), one in zip(tried, seen, strict=True):
        if one.outcome == "ok":
            done.setdefault(way, []).append(move)
    return [
        BoundaryCase(way[0], f"{way[1]} stood elsewhere before", pick(moves, most))
        for way, moves in done.items()
    ]


def _list_set(case: ReviewedCall) -> Iterator[tuple[Place, Json]]:
    """Numbers that the call changed. If it changed nothing, numbers of the rows it names: the new
    total may equal the old one by chance."""
    if case.changes:
        for change in case.changes:
            if (
                change.op == "set"
                and len(change.path) == 3
                and is_number(change.before)
                and is_number(change.after)
            ):
                yield (change.path[0], change.path[1], change.path[2]), change.before
    else:
        named = list(case.asked.call.arguments.values())
        yield from (
            (place, value)
            for place, value in list_near(case)
            if place[1] in named and is_number(value)
        )


def _name_way(case: ReviewedCall, place: Place) -> _Way:
    collection, key, name = place
    named = next(
        (argument for argument, value in case.asked.call.arguments.items() if value == key), ""
    )
    return case.asked.call.name, f"{collection}.{name}", named
