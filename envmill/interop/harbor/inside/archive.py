"""What a machine's files are, as the container that the agent worked in told them: an archive that
may hold anything.

It is read in a container of its own and never unpacked: entries are looked at, and what lies in
some places is put there. Standard library only.
"""

import hashlib
import json
import os
import shutil
import stat
import tarfile
from contextlib import suppress
from pathlib import Path

from own import is_below  # pyright: ignore

# ruff: noqa: PTH101, PTH103, PTH120
# Names are bytes here in all but name.

LARGEST = 64 << 20
"""Bytes of a file."""
ALL = 256 << 20
"""Bytes of all files."""
MOST = 100_000
"""Entries."""
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.GNUTYPE_SPARSE)
_KINDS = {
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
    **dict.fromkeys(_FILES, stat.S_IFREG),
}
Record = dict[str, dict[str, str]]


class Archive:
    """Raises ValueError where nobody can read it, or where it holds what is no file of a
    machine."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self._opened = tarfile.open(fileobj=self._file, mode="r:", errorlevel=2)  # noqa: SIM115  it has nothing open of its own
            self._entries = {self._name(entry): entry for entry in self._list()}
        except BaseException as error:
            self._file.close()
            if isinstance(error, tarfile.TarError | EOFError | OverflowError | UnicodeError):
                raise ValueError(str(error)) from error
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _list(self) -> "list[tarfile.TarInfo]":
        found: list[tarfile.TarInfo] = []
        left = ALL
        for entry in self._opened:
            found.append(entry)
            left -= entry.size
            if len(found) > MOST or entry.type not in _KINDS or entry.size > LARGEST or left < 0:
                raise ValueError(
                    f"{entry.name[:200]!r} is too large, too much or no file of a machine"
                )
        return found

    def _name(self, entry: tarfile.TarInfo) -> str:
        path = f"/{entry.name.strip('/')}"
        if os.path.normpath(path) != path:
            raise ValueError(f"{path[:200]!r} leads elsewhere")
        return path

    def read_record(self, path: str) -> "Record | None":
        """What the machine's files were when its image was built, as it says itself."""
        entry = self._entries.get(path)
        with suppress(ValueError, RecursionError, KeyError, AttributeError, TypeError):
            told = json.loads(self._read(entry)) if entry else None
            return (
                {"own": {str(each): str(what) for each, what in told["own"].items()}}
                if told
                else None
            )
        return None

    def list_own(self, folders: "list[str]", volatile: "list[str]") -> "dict[str, str]":
        """As `own.list_own` tells it, where the files stand."""
        own = {
            path: entry
            for path, entry in self._entries.items()
            if is_below(path, folders) and not is_below(path, volatile)
        }
        return {path: self._describe_entry(entry) for path, entry in own.items()}

    def _describe_entry(self, entry: tarfile.TarInfo) -> str:
        kind = _KINDS[entry.type]
        owned = (
            f"{kind | (0o777 if kind == stat.S_IFLNK else entry.mode & 0o7777):o} "
            f"{entry.uid}:{entry.gid}"
        )
        if kind == stat.S_IFLNK:
            return f"{owned} {os.fsencode(entry.linkname)!r}"
        return (
            f"{owned} {hashlib.blake2b(self._read(entry), digest_size=16).hexdigest()}"
            if kind == stat.S_IFREG
            else owned
        )

    def _read(self, entry: tarfile.TarInfo) -> bytes:
        file = self._opened.extractfile(entry) if entry.isreg() or entry.issparse() else None
        return file.read() if file else b""

    def put(self, places: "list[str]") -> None:
        """These places become as the archive tells them, and are gone where it tells nothing. What
        Python compiled stays away."""
        try:
            for place in places:
                _remove(place)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                for path in sorted(path for path in self._entries if is_below(path, [place])):
                    if "__pycache__" not in path.split("/") and (
                        path == place or self._is_folder(os.path.dirname(path))
                    ):
                        self._make(path, self._entries[path])
        except (OSError, OverflowError, tarfile.TarError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def _is_folder(self, path: str) -> bool:
        return path in self._entries and self._entries[path].isdir()

    def _make(self, path: str, entry: tarfile.TarInfo) -> None:
        """Nothing is followed: nothing has the name, and what is above is a folder."""
        if entry.isdir():
            os.mkdir(path)  # noqa: PTH102
        elif entry.issym():
            os.symlink(entry.linkname, path)  # noqa: PTH211
        elif entry.isfifo():
            os.mkfifo(path)
        else:
            with os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
            ) as file:
                file.write(self._read(entry))
        os.lchown(path, entry.uid, entry.gid)
        if not entry.issym():
            os.chmod(path, entry.mode & 0o7777)
            os.utime(path, (entry.mtime, entry.mtime))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)  # noqa: PTH108


def find_changed(before: "dict[str, str]", after: "dict[str, str]") -> "list[str]":
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
