"""The table under a run: what is expected of each step, how fast it goes, and how long it takes."""

import io
from typing import Any

from rich.console import Console

from flows.cli.live import Pace, draw, lay_out, render_seconds

Row = tuple[Any, ...]


def row(
    step: str,
    entered: int,
    kept: int,
    dropped: int = 0,
    error: int = 0,
    made: int = 0,
    cost: float | None = 0.0,
) -> Row:
    return (step, entered, kept, dropped, error, made, 0, cost)


def test_each_step_expects_what_the_one_before_handed_on() -> None:
    rows = [
        row("environments-generate", 6, 5, 1, made=5),
        row("environments-build", 5, 4, 1, made=4),
        row("environments-verify", 4, 3, 1),
        row("environments-filter", 3, 2, 1),
        row("scenarios-generate", 4, 4, made=4),
    ]
    lines = lay_out(rows, 6, 4, Pace(lambda: 0.0))
    assert [(one.done, one.expected) for one in lines] == [(6, 6), (5, 5), (4, 4), (3, 3), (4, 8)]


def test_rate_and_time_left_come_from_what_was_seen_to_move() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    assert lay_out([row("environments-generate", 10, 10)], 40, 1, pace)[0].left is None
    now = 30.0
    (line,) = lay_out([row("environments-generate", 20, 20)], 40, 1, pace)
    assert (line.rate, line.left) == (20.0, 60.0)


def test_what_ended_in_error_is_not_done() -> None:
    (line,) = lay_out([row("environments-generate", 10, 6, 1, 3)], 12, 1, Pace(lambda: 0.0))
    assert (line.done, line.error, line.expected) == (7, 3, 12)


def test_an_unknown_cost_is_no_zero_and_an_unfinished_step_says_of_how_many() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(
        draw(
            lay_out([row("environments-generate", 10, 10, cost=None)], 12, 1, Pace(lambda: 0.0)),
            "night",
        )
    )
    told = console.export_text()
    assert "10/12" in told
    assert "?" in told


def test_seconds_are_rendered_for_people() -> None:
    assert [render_seconds(one) for one in (None, 0.0, 7.2, 61.0, 3600.0)] == [
        "",
        "",
        "7 s",
        "1 min 01 s",
        "60 min 00 s",
    ]
