"""`digests`: exported folders compared with the digests that the export wrote."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from envmill.bundles.digests import Comparison


def digests(
    folders: Annotated[list[Path], typer.Argument(help="Folders that exporter `bundle` wrote.")],
    sha256: Annotated[
        str | None, typer.Option(help="Published digest of the folder's SHA256SUMS; only then nobody on the way can have replaced both.")
    ] = None,
) -> None:
    """Compare exported folders with their SHA256SUMS, and name every file that is missing, changed or surplus. Nothing in them is run.

    Exits with 0 when all are as exported, 1 when one differs, 2 when one cannot be read.
    """
    from envmill.bundles.digests import compare_digests
    from envmill.errors import SettingsError

    if sha256 is not None and len(folders) > 1:
        raise SettingsError("--sha256 is the digest of one folder. Name one folder.")
    if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256.lower()):
        raise SettingsError(f"--sha256 is {sha256[:80]!r}, which is no SHA-256. Give the 64 hex digits that were published.")
    found = {folder: compare_digests(folder) for folder in folders}
    for folder, comparison in found.items():
        _print(folder, comparison, sha256)
    if not all(comparison.same and (sha256 is None or sha256.lower() == comparison.digest) for comparison in found.values()):
        raise typer.Exit(1)


def _print(folder: Path, comparison: "Comparison", published: str | None) -> None:
    for what in ("missing", "changed", "surplus"):
        for path in getattr(comparison, what):
            typer.echo(f"{folder}: {what}: {path}")
    if published is not None and published.lower() != comparison.digest:
        typer.echo(f"{folder}: SHA256SUMS has sha256 {comparison.digest}, not the published one")
    elif comparison.same:
        typer.echo(f"{folder}: {comparison.files} files as exported, SHA256SUMS has sha256 {comparison.digest}")
