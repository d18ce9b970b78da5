"""Lake files: immutable, named by what made them, published by one primitive, put-if-absent.

    <table>/run=<run>/<step>-<bucket>-<fp8>-a<n>.parquet

A batch publishes its attrition file last: that file commits the batch, and files of an uncommitted batch are never listed.
"""

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envmill.errors import LakeError

_STEM = re.compile(r"(?P<step>[a-z]+-[a-z]+)-(?P<bucket>\d{2})-(?P<fp8>[0-9a-f]{8})-a(?P<attempt>\d+)")


@dataclass(frozen=True)
class BatchName:
    """Which batch made a file."""

    step: str
    bucket: int
    fp8: str
    attempt: int

    @property
    def stem(self) -> str:
        return f"{self.step}-{self.bucket:02d}-{self.fp8}-a{self.attempt}"

    @classmethod
    def parse(cls, stem: str) -> "BatchName | None":
        """None for files that no batch made (run events, sealed journals)."""
        found = _STEM.fullmatch(stem)
        return cls(found["step"], int(found["bucket"]), found["fp8"], int(found["attempt"])) if found else None


def put_if_absent(target: Path, content: bytes) -> bool:
    """Publish whole and durable, or not at all; False when somebody was first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.parent / f".part-{uuid.uuid4().hex}"
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, target)
        _sync_folder(target.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise LakeError(
            f"Cannot write {target}: {error}. Free space or mend the folder's rights, then run again; nothing is lost."
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
    return True


def list_stems(folder: Path) -> Iterator[str]:
    """Stems of the Parquet files of one table and run; unfinished parts have another suffix."""
    if folder.is_dir():
        yield from (entry.name.removesuffix(".parquet") for entry in os.scandir(folder) if entry.name.endswith(".parquet"))


def sweep_parts(root: Path, older_than: float) -> int:
    """Remove what killed writers left behind, once nobody can still be writing it."""
    litter = [part for part in root.glob("*/run=*/.part-*") if part.stat().st_mtime < older_than]
    for part in litter:
        part.unlink(missing_ok=True)
    return len(litter)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
