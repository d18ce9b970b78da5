"""Folders that are given to a command: compared with their SHA256SUMS before anything else; a line
tells where there is none."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.interop.bundles import Folder


def open_folder(root: Path) -> "Folder":
    """Read a bundle folder."""
    from envmill.interop.bundles import read_folder

    folder = read_folder(root)
    _describe(root, compared=folder.compared)
    return folder


def open_folders(root: Path) -> "list[Folder]":
    """Read a bundle folder, or every bundle folder right below one that is none."""
    below = sorted(path.parent for path in root.glob("*/bundle.json"))
    return (
        [open_folder(root)]
        if (root / "bundle.json").exists() or not below
        else [open_folder(path) for path in below]
    )


def compare_release(root: Path) -> None:
    """Compare the files of a release that is to be imported; a tarball is left to its importer."""
    from envmill.interop.bundles.digests import refuse_damage
    from envmill.interop.bundles.envrun.digests import DIGESTS
    from envmill.interop.importers.base import MAX_RELEASE

    if root.is_dir():
        _describe(root, compared=(root / DIGESTS).exists() and refuse_damage(root, MAX_RELEASE))


def _describe(root: Path, *, compared: bool) -> None:
    from envmill.interop.bundles.envrun.digests import UNCOMPARED

    if not compared:
        print_text(f"{root}: {UNCOMPARED}", err=True)
