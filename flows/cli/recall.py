"""`recall`: withdraw records by their ids, or what rests on a source, and name the rows of exported
folders that hold it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_as_json, print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.lake.lake import Lake
    from envmill.pipeline.withdrawing import RestingRows


def recall(
    context: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Ids of scenarios, environments, trajectories or pairs, or the beginning of one, as "
            "`envmill show` prints them.",
        ),
    ] = None,
    reason: Annotated[
        str, typer.Option(help="Why. It is stored with the withdrawal; needed unless --dry.")
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            help="Model that wrote, judged, played the user or acted, as PROVIDER:MODEL@SERVER; "
            "`*` fits all."
        ),
    ] = "",
    seed: Annotated[str, typer.Option(help="Id of a seed.")] = "",
    licence: Annotated[str, typer.Option(help="Licence of seeds; `*` fits all.")] = "",
    run: Annotated[
        list[str] | None, typer.Option(help="Runs to look in; all when left out.")
    ] = None,
    feed: Annotated[
        Path | None, typer.Option(help="Recall feed to bring up to date (docs/provenance.md).")
    ] = None,
    since: Annotated[
        int | None,
        typer.Option(
            min=0, help="Show the feed's entries after this number, one JSON object per line."
        ),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry", help="Show what would be withdrawn, and write nothing.")
    ] = False,
) -> None:
    """Withdraw records by id, or everything made with a model, a seed or a licence, and list the
    exported rows that trainers must drop.

    A scenario takes its trajectories and pairs with it, an environment also its scenarios. Later
    exports leave them out. A second call writes nothing new.
    """
    from envmill.interop.exporters.licence_terms import ProviderTerms, is_about
    from envmill.lake.lake import Lake
    from envmill.pipeline.withdrawing import find_named, find_resting, list_shipped_rows
    from flows.cli.question import find_run

    named = " ".join(ids or [])
    if feed and not (named or model or seed or licence):
        _update_feed(context.obj, feed, since)
        return
    _check((named, model, seed, licence), reason, dry)
    lake = Lake(context.obj.settings.lake)
    meant = ProviderTerms(
        id="recall", models=(model,) if model else (), licences=(licence,) if licence else ()
    )
    runs = [find_run(context.obj, one) for one in run] if run else lake.runs()
    if ids:
        whole = _find_ids(lake, ids)
        asked = (find_named(lake, one, whole) for one in runs)
    else:
        asked = (
            find_resting(
                lake, one, lambda source: source.name == seed if seed else is_about(meant, source)
            )
            for one in runs
        )
    found = [one for one in asked if one is not None]
    if not found and ids:
        raise SettingsError(f"Run {' '.join(runs)} does not hold {named}. Leave out --run.")
    if not found:
        raise SettingsError(
            f"Nothing rests on {model or seed or licence}. `envmill export` writes the sources of "
            "each row into its folders."
        )
    _withdraw(lake, found, reason if ids else f"source {model or seed or licence}: {reason}", dry)
    if feed and not dry:
        _update_feed(context.obj, feed, since)
    for bundle, ids in list_shipped_rows(lake, found):
        print_text(f"{bundle.exporter:12} {bundle.path}: {len(ids)} rows: {' '.join(ids)}")


def _check(sources: tuple[str, ...], reason: str, dry: bool) -> None:
    if sum(map(bool, sources)) != 1:
        raise SettingsError(
            "Name what to withdraw: ids (`envmill show` prints them), or one of --model "
            "PROVIDER:MODEL, --seed ID and --licence NAME."
        )
    if not reason and not dry:
        raise SettingsError("A recall needs a reason. Give --reason, or look first with --dry.")


def _find_ids(lake: "Lake", ids: list[str]) -> set[str]:
    """Whole ids of the records that are meant."""
    from envmill.lake.lineage import find
    from envmill.lake.sql import open_lake
    from envmill.pipeline.withdrawing import TABLES

    with open_lake(lake) as opened:
        records = [find(opened, start) for start in ids]
    for record in records:
        if record.table not in TABLES:
            raise SettingsError(
                f"{record.id} is a row of {record.table}. Name a scenario, environment, trajectory "
                f"or pair; `envmill show {record.id}` shows which belong to it. For a seed use "
                "--seed."
            )
    return {record.id for record in records}


def _withdraw(lake: "Lake", found: "list[RestingRows]", reason: str, dry: bool) -> None:
    """Print what is meant in each run, and withdraw it unless `dry`."""
    from envmill.pipeline.withdrawing import TABLES, withdraw

    for one in found:
        told = [f"{len(getattr(one, name))} {name}" for name in TABLES]
        print_text(f"run {one.run}: {', '.join(told)}")
        if not dry:
            print_text(f"  {len(withdraw(lake, one, reason))} newly withdrawn")


def _update_feed(home: Home, feed: Path, since: int | None) -> None:
    from envmill.lake.lake import Lake
    from envmill.pipeline.feed import list_since, update_feed

    new = update_feed(Lake(home.settings.lake), feed)
    if since is None:
        print_text(f"{feed}: {len(new)} new entries")
        return
    for entry in list_since(feed, since):
        print_as_json(json.dumps(entry, ensure_ascii=False))
