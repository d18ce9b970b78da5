"""`import`: what another system released, as bundle folders."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.interop.importers.base import Harvest


def import_(
    context: typer.Context,
    system: Annotated[
        str,
        typer.Argument(
            help="System that released it: envscaler, awm, envfactory, harbor, endless or tau2."
        ),
    ],
    folder: Annotated[
        Path,
        typer.Argument(help="Folder that holds the files; of harbor and endless also a tarball."),
    ],
    out: Annotated[
        Path,
        typer.Argument(help="Folder to make: one bundle folder per environment, and import.json."),
    ],
    tools: Annotated[
        Path | None,
        typer.Option(
            help="For tau2: a program of the domain, or a folder of programs; EnvMill's own when left out."
        ),
    ] = None,
) -> None:
    """Turn what another system released into bundle folders that `audit` reads. What cannot be
    mapped is listed with its reason.

    Exits with 1 when nothing could be mapped.
    """
    from flows.cli.table import show

    if out.exists():
        raise SettingsError(
            f"{out} exists already. Name a folder that does not, or remove it first."
        )
    harvest = asyncio.run(_import(context.obj, system, folder, tools))
    told = harvest.report(system)
    _write(harvest, out, told)
    show(
        ["subject", "part", "weight", "code", "detail"],
        [tuple(vars(remark).values()) for remark in harvest.remarks],
    )
    kept = ", ".join(
        f"{told['mapped'][name]} of {count} {name}" for name, count in harvest.counted.items()
    )
    print_text(f"{kept}; {len(harvest.remarks)} remarks, also in {out / 'import.json'}", err=True)
    if not harvest.folders:
        raise typer.Exit(1)


import_.__name__ = "import"  # a keyword of Python's


async def _import(home: Home, system: str, folder: Path, tools: Path | None) -> "Harvest":
    from envmill.interop.importers import IMPORTERS, tau2
    from envmill.interop.importers.base import drop_unreadable
    from envmill.kinds import open_sandbox
    from flows.cli.folders import compare_release

    if system not in IMPORTERS:
        raise SettingsError(f"There is no importer {system}. Known: {', '.join(IMPORTERS)}.")
    if tools is not None and system != tau2.SYSTEM:
        raise SettingsError(f"{system} brings its own tools. Leave --tools out.")
    compare_release(folder)
    async with open_sandbox(home.settings) as sandbox:
        if tools is not None:
            return drop_unreadable(await tau2.import_release(folder, sandbox, tools))
        return drop_unreadable(await IMPORTERS[system](folder, sandbox))


def _write(harvest: "Harvest", out: Path, report: dict[str, Any]) -> None:
    import json

    from envmill.interop.bundles import write_folder

    out.mkdir(parents=True)
    (out / "import.json").write_text(
        json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    for name, mapped in harvest.folders.items():
        write_folder(out / name, mapped)
