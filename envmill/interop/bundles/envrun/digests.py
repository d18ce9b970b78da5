"""`SHA256SUMS` of a bundle folder: compared before a file of the folder is used.

SHA256SUMS ─► missing and surplus names ─► every file is read and hashed once ─► first difference: refused
                                                                             └─► none: the bytes that were compared are used
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .files import PlainFiles, is_passed_over

DIGESTS = "SHA256SUMS"
"""SHA-256 of every other file, as `sha256sum` writes it."""
UNCOMPARED = f"no {DIGESTS}, so its files were not compared with those of an export"
"""What a reader says of a folder without one: people write such folders, and older exports are
such."""
_LINE = re.compile(r"([0-9a-f]{64}) [ *](?:\./)?(.+)")
_WHAT = {
    "missing": f"{DIGESTS} names it, and it is missing",
    "changed": f"it was changed after the export: its SHA-256 is not the one in {DIGESTS}",
    "surplus": f"it was added after the export: {DIGESTS} does not name it",
}
_MEND = f"Fetch or export the folder again. If you changed it yourself, remove {DIGESTS}."
_OWN = "Put files of your own into recordings/."


@dataclass(frozen=True)
class FileDifference:
    """A file that is not as it was exported."""

    path: str
    what: str
    """missing, changed or surplus."""


def digest_bytes(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def refuse_differences(files: PlainFiles, *, whole: bool = True) -> bool:
    """Compare every file with SHA256SUMS, and refuse the first difference; False where there is no
    SHA256SUMS.

    `whole` also refuses files that SHA256SUMS does not name, as only a list that EnvMill wrote names all.
    Hidden files and __pycache__ are not compared, as no reader of a folder uses them. Contents are
    kept, so that no file is read twice,
    and a file that is exchanged later is not used. Code below envrun/ is not kept: a reader runs
    its own.
    """
    if DIGESTS not in files:
        return False

    def read(path: str) -> bytes:
        return (
            files.content(path)
            if path.startswith("envrun/") and path.endswith(".py")
            else files.hold(path)
        )

    differences = find_differences(files, read_digests(files), read)
    if found := next((found for found in differences if whole or found.what != "surplus"), None):
        mend = f"{_OWN} {_MEND}" if found.what == "surplus" else _MEND
        raise files.complain(found.path, _WHAT[found.what], mend)
    return True


def find_differences(
    files: PlainFiles, told: dict[str, str], read: Callable[[str], bytes]
) -> Iterator[FileDifference]:
    """Missing and surplus files, which the listing shows, then changed ones."""
    listed = [path for path in files.list() if path != DIGESTS]
    yield from (
        FileDifference(path, "missing")
        for path in told
        if path not in files and (files.hidden or not is_passed_over(path))
    )
    yield from (FileDifference(path, "surplus") for path in listed if path not in told)
    yield from (
        FileDifference(path, "changed")
        for path in listed
        if path in told and digest_bytes(read(path)) != told[path]
    )


def read_digests(files: PlainFiles) -> dict[str, str]:
    """Path → digest."""
    told: dict[str, str] = {}
    for place, line in enumerate(files.text(DIGESTS).removesuffix("\n").split("\n"), 1):
        found = _LINE.fullmatch(line)
        if not found or not line.isprintable() or not _is_inside(found[2]) or found[2] in told:
            what = "it is no digest and path of a file in the folder, or the path stands twice"
            raise files.complain(DIGESTS, what, _MEND, f"line {place}")
        told[found[2]] = found[1]
    return told


def _is_inside(path: str) -> bool:
    return path != DIGESTS and not {"", ".", ".."} & set(path.split("/"))
