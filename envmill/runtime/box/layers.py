"""Layers: what a box wrote over its image, copied so that other boxes can begin with it, or told as
a list.

The kernel keeps a removed file as a device 0:0 of its name, and a folder that hides the one below
by an attribute.
"""

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PASSING = ("overlay.origin", "overlay.impure", "overlay.uuid", "overlay.nlink")
"""Ends of attributes that are true only where they were written."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 200
"""Folders within folders that are looked into: each is held open meanwhile."""


def copy_layer(source: Path, target: Path, without: Collection[str] = ()) -> int:
    """Copy a layer whole, with owners, times and what stands for removed files; the bytes copied.
    Of folders that are to be left out
    only the folder itself is copied, and nothing of what stands in such a folder's place."""
    links: dict[tuple[int, int], Path] = {}
    return _copy_folder(source, target, links, without)


class OverlaidPath(NamedTuple):
    """One path of a layer."""

    path: str
    seen: os.stat_result
    target: str
    """Where a link leads."""
    hides: bool
    """A folder of which nothing below it shows."""
    marked: bool
    """Whether it bears attributes of somebody else than the overlay, as finer rights are."""


def list_entries(layer: Path) -> Iterator[OverlaidPath]:
    """Each path in the layer; a folder is there when it is new or was changed, or something in it
    was."""
    folder = os.open(layer, _FOLDER)
    try:
        yield from _walk(folder, "", _DEEPEST)
    finally:
        os.close(folder)


def list_changes(layer: Path) -> Iterator[tuple[str, str]]:
    """Each path in the layer and what it is there: file, folder, link, removed, other."""
    return ((entry.path, find_kind(entry.seen)) for entry in list_entries(layer))


def _walk(folder: int, inside: str, left: int) -> Iterator[OverlaidPath]:
    """By open folders, not by names: whoever works in there meanwhile could lead a name
    anywhere."""
    if not left:
        raise OSError(f"its folders are more than {_DEEPEST} deep")
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path, seen = f"{inside}/{entry.name}", entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(seen.st_mode):
                target = (
                    os.readlink(entry.name, dir_fd=folder) if stat.S_ISLNK(seen.st_mode) else ""
                )
                yield OverlaidPath(
                    path,
                    seen,
                    target,
                    False,
                    _is_marked(_list_attributes(f"/proc/self/fd/{folder}/{entry.name}")),
                )
                continue
            below = os.open(entry.name, _FOLDER, dir_fd=folder)
            try:
                attributes = _list_attributes(f"/proc/self/fd/{below}/.")
                yield OverlaidPath(
                    path,
                    seen,
                    "",
                    any(name.endswith("overlay.opaque") for name in attributes),
                    _is_marked(attributes),
                )
                yield from _walk(below, path, left - 1)
            finally:
                os.close(below)


def _list_attributes(path: str) -> list[str]:
    with suppress(OSError):  # no attributes here at all
        return os.listxattr(path, follow_symlinks=False)
    return []


def _is_marked(attributes: list[str]) -> bool:
    return any(".overlay." not in name for name in attributes)


def find_kind(seen: os.stat_result) -> str:
    if stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0:
        return "removed"
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(seen.st_mode), "other")


def _copy_folder(
    source: Path, target: Path, links: dict[tuple[int, int], Path], without: Collection[str]
) -> int:
    target.mkdir()
    copied = 0
    with os.scandir(source) as entries:
        for entry in () if str(source) in without else entries:
            place = target / entry.name
            if entry.path in without and not entry.is_dir(follow_symlinks=False):
                continue
            if entry.is_dir(follow_symlinks=False):
                copied += _copy_folder(Path(entry.path), place, links, without)
            else:
                copied += _copy_file(
                    Path(entry.path), place, entry.stat(follow_symlinks=False), links
                )
    _copy_facts(source, target, os.lstat(source))
    return copied


def _copy_file(
    source: Path, target: Path, seen: os.stat_result, links: dict[tuple[int, int], Path]
) -> int:
    if seen.st_nlink > 1:
        if first := links.get((seen.st_dev, seen.st_ino)):
            os.link(first, target, follow_symlinks=False)
            return 0
        links[seen.st_dev, seen.st_ino] = target
    if stat.S_ISREG(seen.st_mode):
        _copy_content(source, target, seen)
    elif stat.S_ISLNK(seen.st_mode):
        target.symlink_to(source.readlink())
    else:
        os.mknod(target, seen.st_mode, seen.st_rdev)
    _copy_facts(source, target, seen)
    return seen.st_size


def _copy_content(source: Path, target: Path, seen: os.stat_result) -> None:
    """Only what was written: a file may be a hole of any length. One that takes as much room as it
    is long has none, and is sent whole."""
    with source.open("rb") as given, target.open("xb") as taken:
        if seen.st_blocks * 512 >= seen.st_size:
            while os.sendfile(taken.fileno(), given.fileno(), None, 1 << 30):
                pass
            return
        os.truncate(taken.fileno(), seen.st_size)
        for start, end in _list_written(given.fileno(), seen.st_size):
            os.lseek(taken.fileno(), start, os.SEEK_SET)
            while start < end and (
                sent := os.sendfile(taken.fileno(), given.fileno(), start, end - start)
            ):
                start += sent


def _list_written(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where it holds anything: beginnings and ends."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing from here on
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def _copy_facts(source: Path, target: Path, seen: os.stat_result) -> None:
    os.lchown(target, seen.st_uid, seen.st_gid)
    if not stat.S_ISLNK(seen.st_mode):
        target.chmod(stat.S_IMODE(seen.st_mode))
    with suppress(OSError):  # no attributes here at all
        for name in os.listxattr(source, follow_symlinks=False):
            if not name.endswith(_PASSING):
                os.setxattr(
                    target,
                    name,
                    os.getxattr(source, name, follow_symlinks=False),
                    follow_symlinks=False,
                )
    os.utime(target, ns=(seen.st_atime_ns, seen.st_mtime_ns), follow_symlinks=False)
