"""`calibrate`: how often a judge of suspicions is right, counted on cases whose truth is known."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from schemas.fairness import FairnessOutcome
    from schemas.suspicion import JudgeCalibration, SuspicionCase

COLUMNS = ["gate", "reason", "model", "planted", "caught", "honest", "kept", "say"]


def calibrate(
    context: typer.Context,
    cases: Annotated[
        Path | None,
        typer.Argument(
            help="JSON lines of cases, or a folder of them; the shipped set when left out."
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            help="Model that judges, as provider:model; without one the known calibrations are "
            "listed."
        ),
    ] = "",
    fairness: Annotated[
        Path | None,
        typer.Option(
            help="Let the judge map the shipped scenarios whose fairness is known, instead; file "
            "for what it found, a line each."
        ),
    ] = None,
) -> None:
    """Ask a judge about cases, twice each, and store by reason code how many planted ones it caught
    and how many honest ones it kept.

    Only a judge with enough cases, 90 % of the honest ones kept and half of the planted ones caught
    decides suspicions in runs.
    """
    from envmill.gates.reading.calibrations import (
        SHIPPED,
        read_calibrations,
        read_cases,
        write_calibrations,
    )

    home: Home = context.obj
    if fairness:
        return _show_fairness(asyncio.run(_try_fairness(home, cases, judge or "offline")), fairness)
    if cases is None and not judge:
        return _show(list(read_calibrations(home.settings.calibrations)))
    found = asyncio.run(_calibrate(home, read_cases(cases or SHIPPED), judge or "offline"))
    if found:
        print_text(f"written to {write_calibrations(found, home.settings.calibrations)}", err=True)
    return _show(found)


async def _calibrate(
    home: Home, cases: "list[SuspicionCase]", judge: str
) -> "list[JudgeCalibration]":
    from envmill.gates.reading import calibrations
    from flows.opening import open_judge

    async with open_judge(judge, home.settings) as models:
        return await calibrations.calibrate(cases, models)


async def _try_fairness(home: Home, cases: Path | None, judge: str) -> "list[FairnessOutcome]":
    from envmill.gates.reading.calibrations import FAIRNESS
    from envmill.gates.reading.fairness import read_fairness_cases, try_fairness
    from flows.opening import open_judge

    async with open_judge(judge, home.settings) as models:
        return await try_fairness(read_fairness_cases(cases or FAIRNESS), models)


def _show_fairness(outcomes: "Sequence[FairnessOutcome]", path: Path) -> None:
    from envmill.gates.reading.fairness import FairnessCount, count_outcomes
    from flows.cli.table import show

    path.write_text("".join(f"{one.model_dump_json()}\n" for one in outcomes), encoding="utf-8")
    print_text(f"written to {path}", err=True)
    show(list(FairnessCount._fields), list(count_outcomes(outcomes)))


def _show(found: "Sequence[JudgeCalibration]") -> None:
    from envmill.gates.reading.suspicions import find_calibration, find_objection
    from flows.cli.table import show

    rows = [
        (one.gate, one.reason, one.model, one.planted, one.caught, one.honest, one.kept,
         find_objection(find_calibration([one], one.gate, one.reason, one.model)) or "yes")
        for one in found
    ]  # fmt: skip
    show(COLUMNS, rows)
