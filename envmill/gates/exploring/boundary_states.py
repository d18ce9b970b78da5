"""Calls on states in which both sides of a comparison in a tool's code are equal.

comparison ─► probe: a version that reports both sides ─► calls that reach it ─► one value moved until both are equal ─► boundary case
                                                                                    └─ one more, one less ─► calls beside it
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.gates.exploring.boundary_calls import (
    LEAST,
    BoundaryCase,
    MovedCall,
    is_number,
    list_near,
    observe,
    pick,
    take_in_turn,
)
from envmill.gates.mutating.mutants import list_tools, render
from envmill.gates.review import ReviewedCall, StateCall
from envmill.sandbox import Observation, Program, Sandbox
from schemas.base import Json, is_array
from schemas.environment import Environment

_MARK = "both sides: "
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CALLS, _MOVES = 6, 36
"""Number of calls tried for a comparison (as many successful as refused ones), and of moved
states."""


@dataclass(frozen=True)
class ValueComparison:
    """A comparison of two values in a tool's code."""

    tool: str
    text: str
    probe: dict[str, str]
    """Files of a version whose comparison raises an error that contains both values."""


def list_comparisons(environment: Environment) -> Iterator[ValueComparison]:
    """Order comparisons in tools that change something."""
    changes = {tool.name for tool in environment.tools if tool.effect == "change"}
    for path, function in list_tools(environment):
        for node in ast.walk(function) if function.name in changes else ():
            if (
                isinstance(node, ast.Compare)
                and len(node.ops) == 1
                and isinstance(node.ops[0], _ORDER)
            ):
                probe = render(environment, path, function, ("probe", node, _describe_sides(node)))
                if probe:
                    yield ValueComparison(function.name, ast.unparse(node), probe.files)


def _describe_sides(node: ast.Compare) -> ast.expr:
    """An expression that raises the error in place of the comparison. Only a generator's `throw`
    raises within an expression."""
    thrown = ast.parse(
        f"(_ for _ in ()).throw(ArithmeticError('{_MARK}' + repr([0, 0])))", mode="eval"
    ).body
    pair = next(each for each in ast.walk(thrown) if isinstance(each, ast.List))
    pair.elts = [node.left, node.comparators[0]]
    return thrown


async def find_boundary_case(
    comparison: ValueComparison,
    cases: Sequence[ReviewedCall],
    most: int,
    program: Program,
    sandbox: Sandbox,
) -> BoundaryCase | None:
    """None if no move makes both sides equal. Successful calls come first, because no other
    condition refuses them."""
    probe, ours = (
        replace(program, files=comparison.probe),
        [case for case in cases if case.asked.call.name == comparison.tool],
    )
    done, refused = (
        [case for case in ours if (case.seen.outcome == "ok") is well] for well in (True, False)
    )
    known = [*done[:_CALLS], *refused[:_CALLS]]
    sides = await _ask_sides(probe, [case.asked for case in known], sandbox)
    moves = take_in_turn(
        [_list_moves(case, *found) for case, found in zip(known, sides, strict=True) if found],
        _MOVES,
    )
    even = await _find_even(probe, moves, sandbox)
    if 0 < len(even) < LEAST:
        even += await _find_even(
            probe, even[0].repeat([case for case in ours if case is not even[0].case]), sandbox
        )
    near = [asked for move in even[:most] for asked in move.beside()]
    beside = [
        asked
        for asked, found in zip(near, await _ask_sides(probe, near, sandbox), strict=True)
        if found and found[0] != found[1]
    ]
    words = f"both sides of {comparison.text} are the same"
    return BoundaryCase(comparison.tool, words, pick(even, most), beside) if even else None


async def _find_even(
    probe: Program, moves: Sequence[MovedCall], sandbox: Sandbox
) -> list[MovedCall]:
    sides = await _ask_sides(probe, [move.asked for move in moves], sandbox)
    return [
        move for move, found in zip(moves, sides, strict=True) if found and found[0] == found[1]
    ]


async def _ask_sides(
    probe: Program, asked: Sequence[StateCall], sandbox: Sandbox
) -> list[tuple[Json, Json] | None]:
    return [_read_sides(seen) for seen in await observe(probe, asked, sandbox)]


def _read_sides(seen: Observation) -> tuple[Json, Json] | None:
    """None if the call did not reach the comparison, or compares neither two numbers nor two
    texts."""
    _, mark, told = seen.message.rpartition(_MARK)
    try:
        found: Json = ast.literal_eval(told.splitlines()[0]) if mark else None
    except (ValueError, SyntaxError, IndexError):
        return None
    if not is_array(found) or len(found) != 2:
        return None
    alike = all(map(is_number, found)) or all(isinstance(side, str) for side in found)
    return (found[0], found[1]) if alike else None


def _list_moves(case: ReviewedCall, left: Json, right: Json) -> list[MovedCall]:
    """Moves that set a value equal to one side to the other, and that shift numbers by the
    difference of the sides."""
    near = list(list_near(case))
    equal = [
        MovedCall(case, place, right if value == left else left)
        for place, value in near
        if value in (left, right)
    ]
    if not is_number(left):
        return equal
    shifts = [
        (place, value, value + lack)
        for place, value in near
        if is_number(value)
        for lack in (right - left, left - right)
    ]
    return equal + [
        MovedCall(case, place, moved)
        for place, value, moved in shifts
        if moved >= 0 and type(moved) is type(value)
    ]
