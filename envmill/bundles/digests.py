"""Digests of an exported folder: SHA-256 of every file, written at export and compared before anything of the folder is used."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from envmill.bundles.envrun.layout import DIGESTS
from envmill.bundles.files import Files, fault

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Comparison:
    """What a folder holds beside what was exported."""

    files: int
    """Files that were exported, the list of digests left out."""
    digest: str
    """SHA-256 of the list of digests: it stands for the whole folder."""
    missing: tuple[str, ...]
    changed: tuple[str, ...]
    surplus: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the folder is as it was exported."""
        return not (self.missing or self.changed or self.surplus)


def spell_digests(files: Mapping[str, bytes]) -> bytes:
    """A line for each file, as `sha256sum` writes and checks it."""
    return "".join(f"{_digest(content)}  {path}\n" for path, content in sorted(files.items())).encode()


def compare_digests(root: Path) -> Comparison:
    """Every file of a folder, hidden ones too, beside the digests in it. Nothing in the folder is run."""
    files = Files(root, hidden=True)
    told = _read_digests(files)
    held = {path: _digest(files.content(path)) for path in files.list() if path != DIGESTS}
    return Comparison(
        files=len(told),
        digest=_digest(files.content(DIGESTS)),
        missing=tuple(sorted(told.keys() - held.keys())),
        changed=tuple(sorted(path for path in told.keys() & held.keys() if told[path] != held[path])),
        surplus=tuple(sorted(held.keys() - told.keys())),
    )


def _read_digests(files: Files) -> dict[str, str]:
    """Path → digest."""
    if DIGESTS not in files:
        raise fault(DIGESTS, "the file is missing", "`envmill export` writes it: export the folder again.")
    told: dict[str, str] = {}
    for place, line in enumerate(files.text(DIGESTS).removesuffix("\n").split("\n"), 1):
        found = _LINE.fullmatch(line)
        if not found or not line.isprintable() or found[2] in told:
            raise fault(DIGESTS, "it is no digest and path, or a path stands twice", "Export the folder again.", f"line {place}")
        told[found[2]] = found[1]
    return told


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
