"""Contents of files that are to be written: bytes, or an unnamed file if they are too large for
memory."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO, Protocol, TypeAlias

_HELD = 8 * 1024 * 1024  # bytes of a content that is held in memory
_CHUNK = 1024 * 1024


class Hash(Protocol):
    """A hash object of hashlib."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str:
        """Hash of all bytes so far."""
        ...


class _NamelessFile:
    """An unnamed file below TMPDIR. It is deleted with the last content in it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def __del__(self) -> None:
        self.file.close()


class StagedFile:
    """A content on disk: an unnamed file, or a part of one."""

    def __init__(self, held: _NamelessFile, start: int, size: int) -> None:
        self._held, self._start, self._size = held, start, size

    def __len__(self) -> int:
        return self._size

    def read(self) -> Iterator[bytes]:
        """All of it, some at a time."""
        place = 0
        while place < self._size:
            self._held.file.seek(self._start + place)
            chunk = self._held.file.read(min(_CHUNK, self._size - place))
            place += len(chunk)
            yield chunk


Content: TypeAlias = bytes | StagedFile


class Pool:
    """Many small contents: the first ones are kept in memory. When they become too many, the rest
    are appended to an unnamed file."""

    def __init__(self) -> None:
        self._held, self._size = 0, 0
        self._file: _NamelessFile | None = None

    def hold(self, content: bytes) -> Content:
        """The content, in memory or on disk."""
        if self._held + len(content) <= _HELD:
            self._held += len(content)
            return content
        if self._file is None:
            self._file = _NamelessFile(TemporaryFile())  # noqa: SIM115
        self._file.file.seek(self._size)
        self._file.file.write(content)
        staged = StagedFile(self._file, self._size, len(content))
        self._size += len(content)
        return staged


class Contents:
    """Contents of one folder, by path."""

    def __init__(self, pool: Pool | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.staged: dict[str, StagedFile] = {}
        self._pool = pool or Pool()

    def add(self, name: str, content: bytes) -> None:
        """Add one of many small contents."""
        held = self._pool.hold(content)
        if isinstance(held, bytes):
            self.files[name] = held
        else:
            self.staged[name] = held

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        """Add a content that comes in pieces."""
        file = self.open()
        for part in parts:
            file.write(part)
        self.take(name, file)

    def open(self) -> IO[bytes]:
        """A file to write a content to. Afterwards `take` gives it a path."""
        return SpooledTemporaryFile(_HELD)

    def take(self, name: str, file: IO[bytes]) -> None:
        """Give the written content a path."""
        size = file.tell()
        if size > _HELD:
            self.staged[name] = StagedFile(_NamelessFile(file), 0, size)
            return
        file.seek(0)
        self.files[name] = file.read()
        file.close()


def read_content(content: Content) -> Iterator[bytes]:
    """All of it, some at a time."""
    return iter([content]) if isinstance(content, bytes) else content.read()


def hash_content(content: Content) -> str:
    """Hash of its bytes."""
    return digest_content(content, blake2b(digest_size=20))


def digest_content(content: Content, hashed: Hash) -> str:
    """Digest with this algorithm, in hexadecimal digits."""
    for chunk in read_content(content):
        hashed.update(chunk)
    return hashed.hexdigest()


def write_content(content: Content, path: Path) -> None:
    """Write it to a file."""
    with path.open("wb") as file:
        for chunk in read_content(content):
            file.write(chunk)


def is_content(path: Path, content: Content) -> bool:
    """Whether a file has this content."""
    if path.stat().st_size != len(content):
        return False
    with path.open("rb") as file:
        return all(file.read(len(chunk)) == chunk for chunk in read_content(content))
