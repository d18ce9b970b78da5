"""`audit`: every gate over an environment or scenario, from the lake or out of a bundle folder that
anybody wrote."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_as_json
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.interop.bundles import Folder
    from envmill.pipeline.audit import AuditEntry

DROPPED, BROKEN = 1, 3


def audit(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            help="Environment or scenario: an id or the beginning of one, or a bundle folder, or "
            "a folder of such folders."
        ),
    ],
    run: Annotated[
        str, typer.Option(help="Run to look in; the latest that holds the record when left out.")
    ] = "",
    seed: Annotated[
        int, typer.Option(help="Seed of everything random. Another seed must give the same result.")
    ] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="The dossier with all evidence, as JSON.")
    ] = False,
) -> None:
    """Run every gate and print each finding, without stopping at the first drop. Nothing is written.

    Exits with 0 when nothing was dropped, 1 when something was, 2 for bad input, 3 when a gate
    could not do its work.
    """
    entries = asyncio.run(_audit(context.obj, what, run, seed))
    _print_json(entries) if json else _print(entries)
    outcomes = {entry.finding.outcome for entry in entries}
    if "error" in outcomes:
        raise typer.Exit(BROKEN)
    if "dropped" in outcomes:
        raise typer.Exit(DROPPED)


async def _audit(home: Home, what: str, run: str, seed: int) -> "list[AuditEntry]":
    from envmill.gates.base import GateContext
    from envmill.kinds import open_sandbox
    from envmill.pipeline.audit import audit_folder, audit_scenario, audit_set

    folders, meant = _find(home, what, run)
    async with open_sandbox(home.settings) as sandbox:
        means = GateContext(sandbox, seed=seed)
        if meant:
            (chosen,) = [one for one in folders[0].scenarios if one.id == meant]
            return await audit_scenario(folders[0], chosen, means)
        entries = [entry for folder in folders for entry in await audit_folder(folder, means)]
    return entries + audit_set(folders)


def _find(home: Home, what: str, run: str) -> "tuple[list[Folder], str]":
    """The folders to audit, and the scenario that was named, if one was."""
    from envmill.front.holdings import find_playable, find_tests
    from envmill.interop.bundles import Folder
    from flows.cli.folders import open_folders

    if Path(what).is_dir():
        return open_folders(Path(what)), ""
    if "/" in what or what.startswith("."):
        raise SettingsError(
            f"There is no folder {what}. Name a bundle folder (docs/bundle-folder.md), or an id "
            "of the lake."
        )
    playable, meant = find_playable(home.settings, what, run)
    tests = find_tests(home.settings, playable.environment.id, run)
    return [Folder(playable.environment, tuple(tests), tuple(playable.scenarios))], meant


def _print(entries: "Sequence[AuditEntry]") -> None:
    from flows.cli.table import show

    rows = [
        (
            one.name,
            one.finding.gate,
            one.finding.outcome,
            one.finding.reason,
            _shorten(one),
            one.finding.seconds,
        )
        for one in entries
    ]
    show(
        ["subject", "gate", "outcome", "reason", "seen", "seconds"],
        [(*row[:5], f"{row[5]:.3f}") for row in rows],
    )


def _shorten(entry: "AuditEntry") -> str:
    """What was seen; where nothing was wrong, what was asked."""
    text = entry.finding.detail or entry.title
    return text if len(text) <= 300 else f"{text[:299]}…"


def _print_json(entries: "Sequence[AuditEntry]") -> None:
    import json

    print_as_json(json.dumps([describe(entry) for entry in entries], indent=2, ensure_ascii=False))


def describe(entry: "AuditEntry") -> dict[str, Any]:
    """One line of the dossier with everything in it."""
    finding = vars(entry.finding)
    return {
        "lap": entry.lap,
        "subject": entry.subject,
        "name": entry.name,
        "asks": entry.title,
    } | finding
