"""`verify`: exported folders compared with the digests that the export wrote."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.interop.bundles.digests import DigestReport


def verify(
    folders: Annotated[list[Path], typer.Argument(help="Folders that exporter `bundle` wrote.")],
    sha256: Annotated[
        str | None,
        typer.Option(
            help="Published digest of the folder's SHA256SUMS. Without it, a folder whose "
            "SHA256SUMS was replaced too passes."
        ),
    ] = None,
) -> None:
    """Compare exported folders with their SHA256SUMS, and name every file that is missing, changed
    or surplus. No code in them runs.

    Exits with 0 when all are as exported, 1 when one differs, 2 when one cannot be read.
    """
    from envmill.base.errors import SettingsError
    from envmill.interop.bundles.digests import compare_digests

    if sha256 is not None and len(folders) > 1:
        raise SettingsError("--sha256 is the digest of one folder. Name one folder.")
    if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256.lower()):
        raise SettingsError(
            f"--sha256 is {sha256[:80]!r}, which is not a SHA-256. Give the 64 hex digits that were "
            "published."
        )
    reports = {folder: compare_digests(folder) for folder in folders}
    for folder, report in reports.items():
        _print(folder, report, sha256)
    if not all(_is_sound(report, sha256) for report in reports.values()):
        raise typer.Exit(1)


def _is_sound(report: "DigestReport", published: str | None) -> bool:
    return not report.differences and (published is None or published.lower() == report.digest)


def _print(folder: Path, report: "DigestReport", published: str | None) -> None:
    for difference in report.differences:
        print_text(f"{folder}: {difference.what}: {difference.path}")
    if published is not None and published.lower() != report.digest:
        print_text(f"{folder}: SHA256SUMS has sha256 {report.digest}, not the published one")
    elif not report.differences:
        print_text(
            f"{folder}: {report.files} files as exported, SHA256SUMS has sha256 {report.digest}"
        )
