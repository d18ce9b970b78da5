"""Files that strangers wrote, out of a folder or a tarball: plain, bounded, inside it; else an
error that names file and mend.

Nothing is written and no link is followed: what is read is a table of paths and contents.
"""

import gzip
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from envmill.interop.bundles.files import fault

MAX_FILE = 16 << 20
MAX_FILES = 5_000
MAX_ALL = 64 << 20
MAX_DEPTH = 16
_PACKED = (".tar", ".tar.gz", ".tgz")
_LINKS = "Put the file itself there: links and devices are not followed."


class FolderFile(NamedTuple):
    """A file."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Tree:
    """All of them, by their path; folders that hold none are not there."""

    name: str
    """What it was read from."""
    files: Mapping[str, FolderFile]

    def __contains__(self, path: str) -> bool:
        return path in self.files

    def below(self, folder: str) -> dict[str, FolderFile]:
        """What a folder holds, its own name left out."""
        return {
            path.removeprefix(f"{folder}/"): leaf
            for path, leaf in self.files.items()
            if path.startswith(f"{folder}/")
        }

    def text(self, path: str) -> str:
        """A file as text."""
        if path not in self.files:
            raise fault(path, "the file is missing", f"Add it to {self.name}.")
        return read_text(path, self.files[path].content)


def read_text(path: str, content: bytes) -> str:
    """UTF-8 without NUL, or a complaint."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise fault(
            path, f"it is not UTF-8 ({error.reason})", "Save it as UTF-8.", f"byte {error.start}"
        ) from None
    if "\0" in text or text.startswith("\ufeff"):
        raise fault(
            path, "it holds a NUL or begins with a byte-order mark", "Save it as plain UTF-8."
        )
    return text


def read_tree(root: Path) -> Tree:
    """A folder, or a tarball of one."""
    if root.is_symlink():
        raise fault(str(root), "it is a link", _LINKS)
    if root.is_file() and root.name.endswith(_PACKED):
        return Tree(str(root), _strip(dict(_collect(_walk_tar(root), str(root)))))
    if not root.is_dir():
        raise fault(
            str(root),
            "there is no such folder",
            f"Name a folder, or a tarball ({', '.join(_PACKED)}) of one.",
        )
    return Tree(str(root), dict(_collect(_walk(root, PurePosixPath()), str(root))))


def _collect(
    found: Iterator[tuple[str, FolderFile]], name: str
) -> Iterator[tuple[str, FolderFile]]:
    size, seen = 0, set[str]()
    for path, leaf in found:
        size += len(leaf.content)
        if len(seen) >= MAX_FILES or size > MAX_ALL:
            raise fault(
                name,
                f"it holds more than {MAX_FILES} files or {MAX_ALL >> 20} MB",
                "Split it, or make it smaller.",
            )
        if path in seen:
            raise fault(path, "it is there twice", "Leave one of them.")
        seen.add(path)
        yield path, leaf


def _walk(folder: Path, at: PurePosixPath) -> Iterator[tuple[str, FolderFile]]:
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        path, found = at / entry.name, entry.stat(follow_symlinks=False)
        _check_name(str(path))
        if stat.S_ISDIR(found.st_mode):
            yield from _walk(folder / entry.name, path)
        elif not stat.S_ISREG(found.st_mode):
            raise fault(str(path), "it is no plain file", _LINKS)
        else:
            _check_size(str(path), found.st_size)
            with os.fdopen(
                os.open(folder / entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
            ) as opened:
                yield str(path), FolderFile(opened.read(MAX_FILE), bool(found.st_mode & 0o100))


def _walk_tar(packed: Path) -> Iterator[tuple[str, FolderFile]]:
    """Unpacked in memory, and no more of it than may be there: a header can say any length."""
    try:
        with tarfile.open(fileobj=io.BytesIO(_inflate(packed)), mode="r:") as archive:
            for number, entry in enumerate(archive):
                path = entry.name.removeprefix("./")
                if number > 2 * MAX_FILES:
                    raise fault(str(packed), f"it holds more than {MAX_FILES} files", "Split it.")
                if entry.isdir():
                    continue
                _check_name(path)
                if not entry.isreg():
                    raise fault(path, "it is no plain file", _LINKS)
                _check_size(path, entry.size)
                opened = archive.extractfile(entry)
                yield (
                    str(PurePosixPath(path)),
                    FolderFile(opened.read() if opened else b"", bool(entry.mode & 0o100)),
                )
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
        raise fault(
            str(packed), f"it is no whole tarball ({error})", "Pack it anew, with tar."
        ) from None


def _inflate(packed: Path) -> bytes:
    with packed.open("rb") if packed.name.endswith(".tar") else gzip.open(packed, "rb") as opened:
        content = opened.read(2 * MAX_ALL + 1)
    if len(content) > 2 * MAX_ALL:
        raise fault(
            str(packed), f"it holds more than {MAX_ALL >> 20} MB", "Split it, or make it smaller."
        )
    return content


def _check_name(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or not path.isprintable():
        raise fault(
            repr(path), "its name leads out of the folder, or cannot be printed", "Rename it."
        )
    if len(parts) > MAX_DEPTH:
        raise fault(path, f"it lies more than {MAX_DEPTH} folders deep", "Move it up.")


def _check_size(path: str, size: int) -> None:
    if size > MAX_FILE:
        raise fault(path, f"it has {size} bytes of {MAX_FILE} allowed", "Make it smaller.")


def _strip(files: dict[str, FolderFile]) -> dict[str, FolderFile]:
    """A tarball often holds the folder itself."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) == 1 and all("/" in path for path in files):
        return {path.partition("/")[2]: leaf for path, leaf in files.items()}
    return files
