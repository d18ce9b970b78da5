"""What stands on a machine, file by file: listed whole, or as what was written over a ground that
many machines begin with.

engine ─► what lies in the container's upper folder, and what the system's own files hold ─► frame: a line for each over the ground's
     └─ no ground, or more than is told ─► a line for every file, by a program in the container
"""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import Container, Digest, OverlayContent, OverlayEntry
from envmill.sandbox.machines.healthy import Healthy, quote
from envmill.sandbox.machines.inside.frame import SKIPPED, render
from envmill.sandbox.machines.machine import JUDGE, PROGRAMS, put, run
from schemas.base import digest

VOLATILE = ("/var/log/services.log", "/var/tmp", "/root", "/home", "/var/cache/ldconfig")
"""What changes on any machine at work. Nobody compares it, so a sealed copy has it as it was at the
beginning."""
HOMES = ("/home/", "/root/")
_UNSEEN = {path.strip("/") for path in SKIPPED}
_DIGEST = 32
"""Letters of a digest."""


class Frame(NamedTuple):
    """Every file outside of what running changes → what it is."""

    own: Mapping[str, str | None]
    """None for what is there no more."""
    ground: Mapping[str, str]
    """What holds for all other paths."""

    def describe(self, path: str) -> str | None:
        """None where nothing is."""
        return self.own[path] if path in self.own else self.ground.get(path)

    def find_changed(self, after: "Frame") -> list[str]:
        """Paths that are others in a later frame."""
        paths = {
            *self.own,
            *after.own,
            *(() if self.ground is after.ground else (*self.ground, *after.ground)),
        }
        return sorted(path for path in paths if self.describe(path) != after.describe(path))


class BaseListing(NamedTuple):
    """What a container stood on when it was begun, listed once."""

    frame: dict[str, str]
    folders: dict[str, set[str]]
    """Folder → the names in it, those of what running changes, too."""
    trusted: dict[str, Digest]
    """The programs and libraries that a judge runs by."""
    library: bytes
    """What health checks import."""

    def list_below(self, path: str) -> Iterator[str]:
        """A path and all that is below it."""
        yield path
        for name in self.folders.get(path, ()):
            yield from self.list_below(f"{path}/{name}")


async def list_ground(
    container: Container, healthy: Healthy, trusted: dict[str, Digest], library: bytes
) -> BaseListing:
    """Of a container in which nothing was done."""
    told = [(path, each) for path, each in await _ask(container, healthy) if path.startswith("/")]
    folders: dict[str, set[str]] = {}
    for path, _ in told:
        above, _, name = path.rpartition("/")
        folders.setdefault(above, set()).add(name)
    return BaseListing(_leave_out(healthy, told), folders, trusted, library)


async def list_frame(
    container: Container, healthy: Healthy, ground: BaseListing | None = None
) -> Frame:
    """As it is now."""
    over = await _list_over(container, healthy, ground) if ground else None
    if ground is None or over is None:
        return Frame(_leave_out(healthy, await _ask(container, healthy)), {})
    return Frame(over, ground.frame)


class ChangedPaths(NamedTuple):
    """What differs from an earlier frame."""

    paths: list[str]
    name: str
    """Names all that was written; empty where more was than can be named, or some of it where a
    frame does not look."""


async def list_touched(
    container: Container, healthy: Healthy, before: Frame, ground: BaseListing
) -> ChangedPaths | None:
    """Told while everything goes on running, and so never enough; None where that is not clear."""
    if (written := await _find_written(container)) is None or (
        held := await _read_own(container, healthy, written)
    ) is None:
        return None
    paths = before.find_changed(Frame(_write_over(healthy, ground, written, held), ground.frame))
    return ChangedPaths(paths, _name_written(healthy, written, held))


def _name_written(healthy: Healthy, written: OverlayContent, held: Mapping[str, Digest]) -> str:
    """Times that a command can set count as well: programs go by them."""
    for entry in written.entries:
        passing = entry.path.split("/")[1] in _UNSEEN or not _leave_out(healthy, [(entry.path, "")])
        if entry.marked or (passing and (entry.kind != "folder" or entry.hides)):
            return ""
    told = [
        [*entry[:-1], held[entry.path].content if entry.path in held else entry.told]
        for entry in written.entries
    ]
    return digest([sorted(told), _list_mounts(written)])


async def _list_over(
    container: Container, healthy: Healthy, ground: BaseListing
) -> dict[str, str | None] | None:
    """What was written over the ground; None where that is not clear, or is more than is told."""
    if (written := await _find_written(container)) is None or (
        held := await _read_own(container, healthy, written)
    ) is None:
        return None
    return _write_over(healthy, ground, written, held)


async def _read_own(
    container: Container, healthy: Healthy, written: OverlayContent
) -> dict[str, Digest] | None:
    """What the system's own files hold; None where one is too large to be read, or went
    meanwhile."""
    own = [entry.path for entry in written.entries if _is_read(healthy, entry)]
    if any(render(path) != path for path in own):
        return None
    try:
        held = await container.digest(own, {}) if own else {}
    except SandboxError:
        return None
    return (
        held if all(path in held and len(held[path].content) == _DIGEST for path in own) else None
    )


async def _find_written(container: Container) -> OverlayContent | None:
    try:
        return await container.list_written()
    except SandboxError:
        return None


def _write_over(
    healthy: Healthy, ground: BaseListing, written: OverlayContent, held: Mapping[str, Digest]
) -> dict[str, str | None]:
    """Lines as the program in the container writes them; None for what is there no more."""
    entries = [entry for entry in written.entries if entry.path.split("/")[1] not in _UNSEEN]
    there = {render(entry.path) for entry in entries if entry.kind != "removed"}
    gone = [path for entry in entries for path in _list_hidden(ground, entry) if path not in there]
    listed = _list_mounts(written)
    listed += [
        (
            render(entry.path),
            render(
                f"{entry.owner} {held[entry.path].content if entry.path in held else entry.told}"
            ),
        )
        for entry in entries
        if entry.kind != "removed"
    ]
    return {**{path: None for path in gone if path in ground.frame}, **_leave_out(healthy, listed)}


def _list_mounts(written: OverlayContent) -> list[tuple[str, str]]:
    """Without their options, which name the container."""
    return [
        (f"mount {place} {source}", kind)
        for source, place, kind, *_ in map(str.split, written.mounts)
    ]


def _list_hidden(ground: BaseListing, entry: OverlayEntry) -> Iterator[str]:
    """Paths of the ground that do not show through."""
    return (
        iter(())
        if entry.kind == "folder" and not entry.hides
        else ground.list_below(render(entry.path))
    )


def _is_read(healthy: Healthy, entry: OverlayEntry) -> bool:
    """Whether what is in it counts, and not when it was written."""
    return entry.kind == "file" and any(
        entry.path == each or entry.path.startswith(f"{each}/") for each in list_own(healthy)
    )


async def _ask(container: Container, healthy: Healthy) -> list[tuple[str, str]]:
    """Every file, by a program in the container."""
    path, marker = f"{JUDGE}{secrets.token_hex(8)}", secrets.token_hex(16)
    await put(container, path, (PROGRAMS / "frame.py").read_bytes())
    hashed = " ".join(quote(each) for each in list_own(healthy))
    ran = await run(
        container, f"cd /; /usr/bin/python3 -I -S -B {path} {marker} {hashed}; rm {path}", 120
    )
    parts = ran.text.split(f"{marker}\n")
    if len(parts) != 3:
        raise SandboxError(
            f"The list of files of {healthy.system.name} is not whole: {ran.text[-500:]}. The "
            "machine is broken."
        )
    rows = (line.partition("\t") for line in parts[1].splitlines())
    return [(name, told) for name, _, told in rows]


def list_own(healthy: Healthy) -> list[str]:
    """Folders and files that belong to the system: all that its data names."""
    system = healthy.system
    return sorted(
        {
            *healthy.files,
            *system.directories,
            *system.owners,
            *system.modes,
            str(Path(system.page).parent),
        }
    )


def list_volatile(healthy: Healthy) -> tuple[str, ...]:
    """Files and folders that change by running: not compared, but for what the system itself has in
    somebody's home."""
    return (*healthy.system.volatile, *VOLATILE)


def _leave_out(healthy: Healthy, told: list[tuple[str, str]]) -> dict[str, str]:
    volatile = list_volatile(healthy)
    below = tuple(f"{each}/" for each in volatile)
    system = healthy.system
    homes = {
        each
        for each in {*healthy.files, *system.directories, *system.owners, *system.modes}
        if each.startswith(HOMES)
    }
    return {
        path: each
        for path, each in told
        if path in homes or (path not in volatile and not path.startswith(below))
    }
