"""A run followed on a terminal: below what happens, a table of what each step has done and how long
it will take; elsewhere plain lines."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from envmill.base.errors import EnvMillError
from flows.cli.printing import print_text
from flows.cli.progress import Progress
from flows.cli.question import ask
from flows.local.api import Api
from flows.local.home import Home

_LOOK = 2.0
"""Seconds between two questions to the lake."""
_FUNNEL = (
    "select lap || '-' || stage as step, entered, kept, dropped, error, made, tokens, cost from "
    "funnel where run = ?"
)
_CONFIG = "select config ->> 'environments', config ->> 'scenarios' from runs where run = ?"
_ROUNDS = (
    "select run from runs where run = ? or starts_with(run, ? || '-r') order by length(run), run"
)


@dataclass(frozen=True)
class StepLine:
    """One step of the table."""

    step: str
    done: int
    expected: int | None
    """What enters it; None while the step before is under way."""
    kept: int
    dropped: int
    error: int
    cost: float | None
    rate: float | None = None
    """Per minute, since it was first seen."""
    left: float | None = None
    """Seconds."""


@dataclass
class Pace:
    """When each step was first seen, and how far it was then."""

    clock: Callable[[], float] = time.monotonic
    _first: dict[str, tuple[float, int]] = field(default_factory=dict)

    def measure(
        self, step: str, done: int, expected: int | None
    ) -> tuple[float | None, float | None]:
        """Rate per minute and seconds left; unknown until something was seen to move."""
        began, had = self._first.setdefault(step, (self.clock(), done))
        gone = self.clock() - began
        if done <= had or gone <= 0:
            return None, None
        rate = (done - had) / gone
        return 60 * rate, None if expected is None else max(0, expected - done) / rate


def lay_out(
    rows: Sequence[tuple[Any, ...]], environments: int, scenarios: int, pace: Pace
) -> list[StepLine]:
    """Rows of the funnel in the order of the line, each with what the one before handed on."""
    lines: list[StepLine] = []
    handed_on: int | None = environments
    for step, entered, kept, dropped, error, made, _, cost in rows:
        expected = entered if handed_on is None else max(handed_on, entered)
        rate, left = pace.measure(step, entered - error, expected)
        lines.append(
            StepLine(step, entered - error, expected, kept, dropped, error, cost, rate, left)
        )
        handed_on = (
            kept * scenarios
            if step == "environments-filter"
            else 1
            if step == "scenarios-collect"
            else made or kept
        )
    return lines


def draw(lines: Sequence[StepLine], run: str) -> Table:
    """As rich draws it."""
    table = Table(title=run, title_justify="left", title_style="dim")
    for name in ("step", "done", "kept", "dropped", "error", "a minute", "left", "cost"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for one in lines:
        done = (
            f"{one.done}/{one.expected}"
            if one.expected and one.done < one.expected
            else str(one.done)
        )
        rate = "" if one.rate is None else f"{one.rate:.0f}"
        cost = "?" if one.cost is None else f"{one.cost:.4g}"
        table.add_row(
            one.step,
            done,
            str(one.kept),
            str(one.dropped),
            str(one.error),
            rate,
            render_seconds(one.left),
            cost,
        )
    return table


def render_seconds(seconds: float | None) -> str:
    """Nothing for what is over or unknown."""
    if not seconds:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def follow(api: Api, flow_run: str, home: Home, run: str) -> dict[str, Any]:
    """To its end; returns the flow run as the server tells it."""
    if not sys.stdout.isatty():
        return Progress(api, flow_run, print_text).follow()
    pace, looked = Pace(), 0.0
    with Live(console=Console(), auto_refresh=False, transient=False) as live:

        def tick() -> None:
            nonlocal looked
            if time.monotonic() - looked >= _LOOK:
                live.update(_read(home, run, pace), refresh=True)
                looked = time.monotonic()

        ended = Progress(
            api,
            flow_run,
            lambda text: live.console.print(text, highlight=False, markup=False),
            tick,
        ).follow()
        live.update(_read(home, run, pace), refresh=True)
    return ended


def _read(home: Home, run: str, pace: Pace) -> Table:
    """The round that is under way. What cannot be read now is read at the next look."""
    try:
        rounds = ask(home, _ROUNDS, [run, run])[1]
        if not rounds:
            return draw([], run)
        current = rounds[-1][0]
        ((environments, scenarios),) = ask(home, _CONFIG, [current])[1]
        return draw(
            lay_out(ask(home, _FUNNEL, [current])[1], int(environments), int(scenarios), pace),
            current,
        )
    except EnvMillError as error:
        return draw([], f"{run}: {error.message.splitlines()[0]}")
