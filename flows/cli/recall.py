"""`recall`: withdraw what rests on a source, and name the rows of exported folders that hold it."""

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
    reason: Annotated[str, typer.Option(help="Why; it stands in the withdrawals.")] = "",
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
    """Withdraw everything that rests on a model, a seed or a licence, and list the rows that left
    already, for trainers to drop.

    A later export leaves them out. Calling it again writes nothing twice.
    """
    from envmill.interop.exporters.licence_terms import ProviderTerms, is_about
    from envmill.lake.lake import Lake
    from envmill.pipeline.withdrawing import find_resting, list_shipped_rows
    from flows.cli.question import find_run

    if feed and not (model or seed or licence):
        _update_feed(context.obj, feed, since)
        return
    _check((model, seed, licence), reason, dry)
    lake = Lake(context.obj.settings.lake)
    meant = ProviderTerms(
        id="recall", models=(model,) if model else (), licences=(licence,) if licence else ()
    )
    runs = [find_run(context.obj, one) for one in run] if run else lake.runs()
    asked = (
        find_resting(
            lake, one, lambda source: source.name == seed if seed else is_about(meant, source)
        )
        for one in runs
    )
    found = [one for one in asked if one is not None]
    if not found:
        raise SettingsError(
            f"Nothing rests on {model or seed or licence}. `envmill export` writes the sources of "
            "each row into its folders."
        )
    _withdraw(lake, found, "" if dry else f"source {model or seed or licence}: {reason}")
    if feed and not dry:
        _update_feed(context.obj, feed, since)
    for bundle, ids in list_shipped_rows(lake, found):
        print_text(f"{bundle.exporter:12} {bundle.path}: {len(ids)} rows: {' '.join(ids)}")


def _check(sources: tuple[str, ...], reason: str, dry: bool) -> None:
    if sum(map(bool, sources)) != 1:
        raise SettingsError("Name one source: --model PROVIDER:MODEL, --seed ID or --licence NAME.")
    if not reason and not dry:
        raise SettingsError("A recall says why: give --reason, or --dry to look first.")


def _withdraw(lake: "Lake", found: "list[RestingRows]", reason: str) -> None:
    """Say what rests on the source, and withdraw it where there is a reason."""
    from envmill.pipeline.withdrawing import withdraw

    for one in found:
        told = [
            f"{len(getattr(one, name))} {name}"
            for name in ("environments", "scenarios", "trajectories", "pairs")
        ]
        print_text(f"run {one.run}: {', '.join(told)}")
        if reason:
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
