"""`export`: what runs kept, written again in the forms that are wanted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.errors import SettingsError
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.interop.exporters import OutputFolder
    from envmill.stages.context import ExportInput
    from schemas.rollout import Bundle

ASKED = "_asked"
"""Folder of exports that were asked for by hand, beside those of the runs; no run bears such an id."""


def export(
    context: typer.Context,
    runs: Annotated[list[str], typer.Argument(help="Runs to export together; the beginning of an id will do.")],
    exporter: Annotated[list[str] | None, typer.Option(help="One of the README's exporters; all when left out.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="train, validation or test; all when left out.")] = None,
    provisional: Annotated[bool, typer.Option(help="Export items too that a required gate could not measure.")] = False,
    with_tier: Annotated[str, typer.Option("--with", help="`suspected` exports items with an undecided suspicion too.")] = "",
    scripted: Annotated[bool, typer.Option(help="Give `sft` what scripts did in environments that a model wrote, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder to make; one named after the content when left out.")] = None,
) -> None:
    """Export what runs kept. Nothing is judged or played again; the same rows make the same bytes, and what stays at home is told."""
    from envmill.interop.exporters import EXPORTERS
    from envmill.interop.exporters.base import SPLITS
    from envmill.stages.export import SUSPECTED, choose_cargo, keep_splits, pack_cargo, unite_loads
    from flows.cli.question import find_run

    exporters, splits = _check("exporter", exporter, tuple(EXPORTERS)), _check("split", split, SPLITS)
    if with_tier not in ("", SUSPECTED):
        raise SettingsError(f"There is no tier {with_tier!r} to export: write --with {SUSPECTED}, or leave it out for clean items alone.")
    meant = sorted({find_run(context.obj, run) for run in runs})
    loads = unite_loads([_read_load(context.obj, run) for run in meant])
    cargo, findings = choose_cargo(loads, provisional=provisional, suspected=bool(with_tier))
    for finding in findings:
        if finding.evidence:
            typer.echo(f"{finding.gate}: {_count(finding.evidence)}", err=True)
    if findings[-1].outcome == "dropped":
        raise SettingsError(f"Nothing was exported: {findings[-1].detail}.")
    parcels = pack_cargo(keep_splits(cargo, splits), exporters, scripted=scripted)
    if not parcels:
        raise SettingsError(f"{', '.join(meant)} kept nothing of split {', '.join(splits)} that {', '.join(exporters)} can be made of.")
    for bundle, folder in _write(context.obj, parcels, meant, out):
        typer.echo(f"{bundle.exporter:12} {folder} ({bundle.rows} rows, {len(bundle.files)} files)")


def _check(what: str, given: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if strange := [one for one in given or () if one not in known]:
        raise SettingsError(f"There is no {what} {strange[0]!r}. Known: {', '.join(known)}.")
    return tuple(one for one in known if one in given) if given else known


def _count(evidence: Any) -> str:
    """The ids are in the ledger; here their number and the first of them."""
    return "; ".join(
        f"{len(ids)} scenarios {what.replace('_', ' ')}, {', '.join(ids[:3])} among them" for what, ids in evidence.items() if ids
    )


def _read_load(home: Home, run: str) -> "ExportInput":
    """Everything a run has to export, as its last steps left it."""
    from dataclasses import replace

    from envmill.agents.limits import RolloutLimits
    from envmill.lake.lake import Fingerprint, Lake
    from envmill.pipeline.inputs import StepInputs, enter_load
    from envmill.pipeline.line import STEPS
    from envmill.recipes import RECIPES
    from envmill.recipes.drafting.themes import read_themes
    from flows.cli.question import ask
    from schemas.ledger import RunEvent
    from schemas.run import RunConfig

    lake = Lake(home.settings.lake)
    started = next(row for row in lake.read(RunEvent, run) if row.event == "started")
    config = RunConfig.read(started.detail)
    question = "select step, arg_max(fingerprint, written_at) from attrition where run = ? group by step"
    found = dict(ask(home, question, [run])[1])
    marks = {step.name: Fingerprint(step.name, found[step.name]) for step in STEPS if step.name in found}
    if lacking := [step for step in ("scenarios-build", "scenarios-filter", "scenarios-collect") if step not in marks]:
        raise SettingsError(f"Run {run} has not come to {lacking[0]} yet. Go on with it: `envmill run --resume {run}`.")
    entered = enter_load(StepInputs(lake, run, marks, config, RECIPES[config.recipe](read_themes())))
    if not entered:
        raise SettingsError(f"Run {run} collected nothing. `envmill funnel {run}` tells what died where.")
    load = entered[0].record
    return replace(load, cargo=replace(load.cargo, limits=RolloutLimits.of(config).describe()))


def _write(home: Home, parcels: "list[OutputFolder]", runs: list[str], out: Path | None) -> "list[tuple[Bundle, Path]]":
    """The folders, and a row for each run that what left was made from."""
    from envmill import __version__
    from envmill.interop.exporters import write_parcels
    from envmill.lake.arrow import Stamp
    from envmill.lake.lake import Lake
    from schemas.base import digest
    from schemas.rollout import Bundle

    if out and out.exists():
        raise SettingsError(f"{out} exists already. Name a folder that does not, or remove it first.")
    name = digest([[parcel.name, parcel.content_hash] for parcel in parcels], 12)
    folder = out or home.settings.bundles / ASKED / name
    bundles = write_parcels(parcels, folder, str(out.resolve()) if out else f"{ASKED}/{name}")
    now = datetime.now(UTC).isoformat()
    lake = Lake(home.settings.lake)
    for run in runs:
        # A copy of what left already is the same bundle.
        known = {one.id for one in lake.read(Bundle, run)}
        if fresh := [one for one in bundles if one.id not in known]:
            lake.put(Bundle, fresh, f"export-{name}", Stamp(run, "export", "", 0, 1, __version__, now))
    return [(bundle, folder / parcel.name) for bundle, parcel in zip(bundles, parcels, strict=True)]
