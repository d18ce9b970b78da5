"""Digests of an exported folder: SHA-256 of every file, written at export; `envmill verify` names
every file that differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from envmill.interop.bundles.envrun.digests import (
    DIGESTS,
    FileDifference,
    digest_bytes,
    find_differences,
    read_digests,
    refuse_differences,
)
from envmill.interop.bundles.envrun.layout import RECORDINGS
from envmill.interop.bundles.files import Files


@dataclass(frozen=True)
class DigestReport:
    """How a folder differs from what was exported."""

    files: int
    """Files that were exported, the list of digests left out."""
    digest: str
    """SHA-256 of the list of digests: it stands for the whole folder."""
    differences: tuple[FileDifference, ...]


def render_digests(files: Mapping[str, bytes]) -> bytes:
    """A line for each file, as `sha256sum` writes and checks it."""
    return "".join(
        f"{digest_bytes(content)}  {path}\n" for path, content in sorted(files.items())
    ).encode()


def refuse_damage(root: Path, largest: int) -> bool:
    """Refuse a release of another system with a file that differs from its SHA256SUMS; False where
    it has none."""
    return refuse_differences(Files(root, largest), whole=False)


def compare_digests(root: Path) -> DigestReport:
    """Compare every file of a folder, hidden ones too, with its digests. No code of the folder
    runs."""
    files = Files(root, hidden=True, skipped=(RECORDINGS,))
    told = read_digests(files)
    return DigestReport(
        len(told),
        digest_bytes(files.content(DIGESTS)),
        tuple(find_differences(files, told, files.content)),
    )
