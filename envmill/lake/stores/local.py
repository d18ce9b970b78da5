"""A folder on a local disk; link(2) is its put-if-absent.

content ─► .part-<uuid> ─► fsync ─► link to its name ─► fsync of the folder
"""

import contextlib
import errno
import os
import uuid
from pathlib import Path

from envmill.base.errors import LakeError
from envmill.lake.stores.base import StoredFile

_MENDS = {
    errno.ENOSPC: "The disk is full: free space there",
    errno.EDQUOT: "The quota is used up: free space there",
    errno.EROFS: "The disk is mounted read-only: mount it for writing, or set ENVMILL_LAKE to another "
    "folder",
    errno.EACCES: "Give this user the right to write there, or set ENVMILL_LAKE to another folder",
    errno.EPERM: "This disk has no hard links, which publishing needs: set ENVMILL_LAKE to a folder on a "
    "local disk that has them",
    errno.ENOTSUP: "This disk has no hard links, which publishing needs: set ENVMILL_LAKE to a folder on a "
    "local disk that has them",
    errno.ENOTDIR: "A file stands where a folder should be: move it away",
    errno.EEXIST: "A file stands where a folder should be: move it away",
}


class LocalStore:
    """Files below one folder."""

    whole_listing = (
        400  # one getdents call of 32 KB holds the folder's lock; names of ours take up to 80 bytes
    )
    at_once = 1

    def __init__(self, url: str) -> None:
        self.root = Path(url.rpartition("://")[2]).absolute()
        self.url = str(self.root)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        target = self.root / name
        part = target.parent / f".part-{uuid.uuid4().hex}"
        try:
            mode = _read_mode(self.root)
            make_folder(target.parent, mode)
            _write(part, content, mode & 0o666)
            return _link(part, target)
        except OSError as error:
            mend = _MENDS.get(error.errno or 0, "Mend the folder")
            raise LakeError(
                f"Cannot write {target}: {error}. {mend}, then run again; nothing is lost.",
                path=str(target),
            ) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink()

    def entries(self, folder: str, start: str = "") -> list[StoredFile]:
        found: list[StoredFile] = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root / folder) as listing:
            for one in listing:
                if one.name.startswith(".") or not one.name.startswith(start):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if one.is_file():
                        status = one.stat()
                        found.append(
                            StoredFile(f"{folder}/{one.name}", status.st_size, status.st_mtime)
                        )
        return sorted(found, key=lambda entry: entry.name)

    def folders(self, folder: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root / folder) as listing:
            return sorted(one.name for one in listing if one.is_dir())
        return []

    def states(self, folder: str, before: float | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root / folder) as listing:
            for one in listing:
                with contextlib.suppress(FileNotFoundError):
                    if one.is_dir():
                        changed = one.stat().st_mtime_ns
                        fresh = before is not None and changed > before * 1e9
                        found[one.name] = "" if fresh else str(changed)
        return found

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    def sweep(self, before: float) -> int:
        litter = 0
        for part in (*self.root.glob("*/.part-*"), *self.root.glob("*/*/.part-*")):
            with contextlib.suppress(FileNotFoundError):
                if part.stat().st_mtime < before:
                    part.unlink()
                    litter += 1
        return litter

    def locate(self, name: str) -> str:
        return f"{self.url}/{name}"


def _read_mode(root: Path) -> int:
    """Who may read and write: those who may at the lake's own folder, its owner alone where it is
    yet to be made."""
    try:
        return root.stat().st_mode & 0o2777
    except FileNotFoundError:
        return 0o700


def make_folder(folder: Path, mode: int = 0o700) -> None:
    """Make a folder and those above it, so that none is lost with the power."""
    if folder.is_dir():
        return
    make_folder(folder.parent, mode)
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(mode)  # whatever the umask
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(part: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _link(part: Path, target: Path) -> bool:
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    sync_folder(target.parent)
    return True
