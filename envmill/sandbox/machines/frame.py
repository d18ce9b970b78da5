"""What stands on a machine, file by file: listed whole, or as what was written over a ground that many machines begin with.

container ─► list of what lies in its upper folder ─► a line for each, from inside ─► frame: these lines over the ground's
     └─ no ground, or more changes than are told ─► a line for every file
"""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from envmill.errors import SandboxError
from envmill.sandbox.containers import Container, Digest
from envmill.sandbox.machines.healthy import Healthy, quote
from envmill.sandbox.machines.inside.frame import SKIPPED, spell
from envmill.sandbox.machines.machine import JUDGE, PROGRAMS, put, run

VOLATILE = ("/var/log/services.log", "/var/tmp", "/root", "/home", "/var/cache/ldconfig")
"""What changes on any machine at work."""
_UNSEEN = {path.strip("/") for path in SKIPPED}


class Frame(NamedTuple):
    """Every file outside of what running changes → what it is."""

    own: Mapping[str, str | None]
    """None for what is there no more."""
    ground: Mapping[str, str]
    """What holds for all other paths."""

    def tell(self, path: str) -> str | None:
        """None where nothing is."""
        return self.own[path] if path in self.own else self.ground.get(path)

    def find_changed(self, after: "Frame") -> list[str]:
        """Paths that are others in a later frame."""
        paths = {*self.own, *after.own, *(() if self.ground is after.ground else (*self.ground, *after.ground))}
        return sorted(path for path in paths if self.tell(path) != after.tell(path))


class Ground(NamedTuple):
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


async def list_ground(container: Container, healthy: Healthy, trusted: dict[str, Digest], library: bytes) -> Ground:
    """Of a container in which nothing was done."""
    told = [(path, each) for path, each in await _ask(container, healthy, "all") if path.startswith("/")]
    folders: dict[str, set[str]] = {}
    for path, _ in told:
        above, _, name = path.rpartition("/")
        folders.setdefault(above, set()).add(name)
    return Ground(_leave_out(healthy, told), folders, trusted, library)


async def list_frame(container: Container, healthy: Healthy, ground: Ground | None = None) -> Frame:
    """As it is now."""
    over = await _list_over(container, healthy, ground) if ground else None
    if ground is None or over is None:
        return Frame(_leave_out(healthy, await _ask(container, healthy, "all")), {})
    return Frame(over, ground.frame)


async def _list_over(container: Container, healthy: Healthy, ground: Ground) -> dict[str, str | None] | None:
    """What was written over the ground; None where that is not clear, or is more than is told."""
    try:
        paths = [change.path for change in await container.changes() if change.path.split("/")[1] not in _UNSEEN]
    except SandboxError:
        return None
    told = await _ask(container, healthy, "some", "\0".join(paths).encode("utf-8", "surrogateescape"))
    names = {path.removeprefix("in "): {*each.split("\t")} - {""} for path, each in told if path.startswith("in /")}
    listed = [(path, each) for path, each in told if not path.startswith("in /")]
    there = {path for path, _ in listed}
    gone: list[str] = []
    for path in map(spell, paths):
        before, now = ground.folders.get(path, set[str]()), names.get(path, set[str]())
        if any(f"{path}/{name}" not in there for name in now - before):
            return None
        gone += [each for name in before - now for each in ground.list_below(f"{path}/{name}")]
        gone += [] if path in there else [path]
    return {**{path: None for path in gone if path in ground.frame and path not in there}, **_leave_out(healthy, listed)}


async def _ask(container: Container, healthy: Healthy, which: str, paths: bytes = b"") -> list[tuple[str, str]]:
    path, marker = f"{JUDGE}{secrets.token_hex(8)}", secrets.token_hex(16)
    await put(container, path, (PROGRAMS / "frame.py").read_bytes())
    hashed = " ".join(quote(each) for each in list_own(healthy))
    ran = await run(container, f"cd /; /usr/bin/python3 -I -S -B {path} {marker} {which} {hashed}; rm {path}", 120, paths)
    parts = ran.text.split(f"{marker}\n")
    if len(parts) != 3:
        raise SandboxError(f"The list of files of {healthy.system.name} is not whole: {ran.text[-500:]}. The machine is broken.")
    rows = (line.partition("\t") for line in parts[1].splitlines())
    return [(name, told) for name, _, told in rows]


def list_own(healthy: Healthy) -> list[str]:
    """Folders and files that belong to the system: all that its data names."""
    system = healthy.system
    return sorted({*healthy.files, *system.directories, *system.owners, *system.modes, str(Path(system.page).parent)})


def _leave_out(healthy: Healthy, told: list[tuple[str, str]]) -> dict[str, str]:
    """What changes by running."""
    volatile = (*healthy.system.volatile, *VOLATILE)
    below = tuple(f"{each}/" for each in volatile)
    return {path: each for path, each in told if path not in volatile and not path.startswith(below)}
