"""Contents of files that are yet to be written: bytes, or a file without a name where there are too many for memory."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TypeAlias

_HELD = 8 * 1024 * 1024  # bytes of a content that is held in memory
_CHUNK = 1024 * 1024


class StagedFile:
    """A content on disk below TMPDIR, which goes with the last that knows of it."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size

    def __len__(self) -> int:
        return self._size

    def __del__(self) -> None:
        self._file.close()

    def read(self) -> Iterator[bytes]:
        """All of it, some at a time."""
        place = 0
        while place < self._size:
            self._file.seek(place)
            chunk = self._file.read(_CHUNK)
            place += len(chunk)
            yield chunk


Content: TypeAlias = bytes | StagedFile


class Contents:
    """Contents of one folder, by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.staged: dict[str, StagedFile] = {}

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        """Take a content that comes in parts."""
        file = self.open()
        for part in parts:
            file.write(part)
        self.take(name, file)

    def open(self) -> IO[bytes]:
        """A file to write a content to; `take` names it."""
        return SpooledTemporaryFile(_HELD)

    def take(self, name: str, file: IO[bytes]) -> None:
        """Name what was written."""
        size = file.tell()
        if size > _HELD:
            self.staged[name] = StagedFile(file, size)
            return
        file.seek(0)
        self.files[name] = file.read()
        file.close()


def read_content(content: Content) -> Iterator[bytes]:
    """All of it, some at a time."""
    return iter([content]) if isinstance(content, bytes) else content.read()


def hash_content(content: Content) -> str:
    """Hash of its bytes."""
    hashed = blake2b(digest_size=20)
    for chunk in read_content(content):
        hashed.update(chunk)
    return hashed.hexdigest()


def write_content(content: Content, path: Path) -> None:
    """As a file."""
    with path.open("wb") as file:
        for chunk in read_content(content):
            file.write(chunk)


def is_content(path: Path, content: Content) -> bool:
    """Whether a file holds it."""
    if path.stat().st_size != len(content):
        return False
    with path.open("rb") as file:
        return all(file.read(len(chunk)) == chunk for chunk in read_content(content))
