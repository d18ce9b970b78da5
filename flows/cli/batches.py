"""`batches`: what a run has handed in, how far it is, and calling it off."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.models.batches.slips import FiledSlip, Slips


def batches(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Run whose batches are meant.")],
    cancel: Annotated[
        str,
        typer.Option(
            help="Slip (id of a batch in the list) to cancel. Finished answers count; the rest is submitted again when the run is resumed."
        ),
    ] = "",
) -> None:
    """List a run's batches: when each was submitted, its id, and how it ended."""
    from envmill.lake.lake import Lake
    from envmill.models.batches.slips import Slips
    from flows.cli.table import show

    lake = Lake(context.obj.settings.lake)
    if run not in lake.runs():
        raise SettingsError(
            f"No run {run} in {lake.url}. Known runs: {', '.join(lake.runs()[-10:]) or 'none'}."
        )
    slips = Slips(lake.store, run)
    if cancel:
        return _call_off(context, slips, run, cancel)
    return show(
        ["slip", "carrier", "id", "model", "handed in", "requests", "state", "undone"],
        [_describe(filed) for filed in slips.read()],
    )


def _describe(filed: "FiledSlip") -> tuple[Any, ...]:
    slip = filed.slip
    handed = datetime.fromtimestamp(slip.handed_at, UTC).isoformat(timespec="seconds")
    return (
        slip.name,
        slip.carrier,
        filed.id,
        slip.model,
        handed,
        len(slip.items),
        filed.state,
        len(filed.undone or {}),
    )


def _call_off(context: typer.Context, slips: "Slips", run: str, name: str) -> None:
    from envmill.models.batch import open_carrier
    from envmill.models.spec import Spec

    found = next((filed for filed in slips.read() if filed.slip.name == name), None)
    if found is None:
        raise SettingsError(f"Run {run} has no slip {name}. `envmill batches {run}` lists them.")
    if not found.id or found.closed:
        raise SettingsError(f"Slip {name} is {found.state}: there is nothing to cancel.")

    async def cancel() -> None:
        carrier = open_carrier(
            Spec.parse(f"{found.slip.carrier}:{found.slip.model}"), context.obj.settings, run
        )
        try:
            await carrier.cancel(found.id)
        finally:
            await carrier.close()

    asyncio.run(cancel())
    print_text(
        f"{name} is called off. Resume the run: what is done counts, the rest is handed in again.",
        err=True,
    )
