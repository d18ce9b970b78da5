"""What became of a machine that somebody worked on, by a judge that trusts nothing that ran there.

all held ─► programs compared from without ─► files listed and compared ─► health as left, by a process that nobody can look into
─► all held, compared again ─► a copy in which nothing runs, programs and settings shut ─► services from a copy of ours ─► health

Trust is built up from without: while everything is held, the few files that the judge's own programs run by are read by the engine and
compared; then the frame is listed, by the engine or by modules frozen into the interpreter. Health as left is necessary and never enough.
What counts is asked in a copy of the files, which has no process of the agent's, none of its temporary files and no home. What an agent
leaves behind can spoil its own verdict and nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envmill.errors import SandboxError
from envmill.sandbox.containers import Container, Digest
from envmill.sandbox.machines.frame import Frame, Ground, list_frame, list_ground, list_touched
from envmill.sandbox.machines.healthy import Healthy, quote
from envmill.sandbox.machines.machine import CLEAN, NoReportError, check_health, pack_library, put, restart, run
from schemas.base import digest

LIBRARIES = "/lib/x86_64-linux-gnu"
TRUSTED = (
    "/bin/bash",
    "/usr/bin/python3.11",
    "/lib64/ld-linux-x86-64.so.2",
    f"{LIBRARIES}/libc.so.6",
    f"{LIBRARIES}/libm.so.6",
    f"{LIBRARIES}/libz.so.1",
    f"{LIBRARIES}/libexpat.so.1",
    f"{LIBRARIES}/libtinfo.so.6",
    "/usr/bin/python3",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
)
"""All that has a say before the frame is listed: two programs, their libraries, and what tells the loader where these are."""

OUTSIDE, HEALTH = "outside", "health"
"""Parts of the state that a look may end with."""
_UNTOLD = "check"
"""Stands in place of all probes where the check gave no report."""

TOLD = 500
"""Changed paths that are told; an agent can change as many as a machine holds."""

ROOM = 1 << 20
"""Bytes that a machine has to have left, in memory and on its disk: a full one does not work."""
RUNNING = "/run"
PASSING = ("/tmp", "/var/tmp", "/run", "/dev/shm")
"""What a restart empties."""
HOME = "/root"
"""Root's, which programs ask for settings whatever they are told: it begins anew, where nothing of the machine lies in it."""
SHUT = ("/etc", "/usr")
CACHE = "__pycache__"
"""Where Python keeps what it compiled."""
LOADED = (
    CLEAN["HOME"],
    "/usr/lib",
    "/usr/local/lib",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/lib",
    "/lib64",
    "/bin",
    "/usr/bin/python3.11",
)
"""Where the judge's programs load what they are made of; compiled files are looked for below the home that does not exist."""

SPARES = (".bak", ".orig", ".old", ".save", ".dpkg-old", "~")
"""Endings of copies that careful people leave beside what they edit."""


class Reference(NamedTuple):
    """What stood there before the agent's first command; it is kept outside."""

    frame: Frame
    trusted: dict[str, Digest]
    ground: Ground | None = None
    """What its container began with, where that is listed once for many."""
    library: bytes = b""
    """What health checks import."""
    running: bytes = b""
    """What stood in memory (`/run`) before any service ran, packed."""
    reports: "dict[str, Examined] | None" = None
    """What machines that began alike came to → what they showed; None where none is kept."""


EXAM_FOLDERS = ("/tests", "/logs")
"""Where tests of other formats lie and report while they run: below `/`, which a sealed copy cannot write to."""


@dataclass(frozen=True)
class Examined:
    """What was found. What comes after the first fault is not asked: it would say nothing."""

    room: bool = True
    """Whether there was room for the judge's own files."""
    replaced: Sequence[str] = ()
    """Programs and libraries that are others now."""
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Probe → what was wrong as it was left, empty where nothing was."""
    inside: Sequence[str] = ()
    """Places that may be changed, and were."""
    outside: Sequence[str] = ()
    """Changed, and not among them."""
    lasting: dict[str, str] = field(default_factory=dict[str, str])
    """Probe → what is wrong after a restart; none where it was not asked."""
    detail: str = ""
    """What there was no room for."""


async def take_ground(container: Container, healthy: Healthy, library: bytes = b"") -> Ground:
    """Of a container in which nothing was done yet; without a packed library, its own is packed."""
    library, trusted = library or await pack_library(container), await read_trusted(container, {})
    return await list_ground(container, healthy, trusted, library)


async def take_reference(container: Container, healthy: Healthy, ground: Ground | None = None) -> Reference:
    """A ground knows the programs, too: nobody's command was run in between."""
    frame = await list_frame(container, healthy, ground)
    if ground is None:
        return Reference(frame, await read_trusted(container, {}))
    return Reference(frame, await read_trusted(container, ground.trusted), ground, ground.library)


async def examine(
    container: Container, healthy: Healthy, places: Sequence[str], reference: Reference, exam: str = "",
    until: Sequence[Sequence[str]] = (), known: bool = False,
) -> Examined:  # fmt: skip
    """SandboxError says that nothing is known; an agent cannot bring one about by what it changes, for that is looked at first.

    What one of the paths `until` shows amiss is all that is asked: nothing outside (OUTSIDE), or a probe well (HEALTH, its name).
    Where it is `known` what an equal machine showed, that is enough.
    """
    look = _Look(container, healthy, places, reference, exam)
    reports = reference.reports if reference.reports is not None else {}
    try:
        name, outside = await look.see_from_without()
        if known and name in reports:
            return reports[name]
        if outside and [OUTSIDE] in map(list, until):
            return Examined(outside=outside)
        if probes := [path[-1] for path in until if path[0] == HEALTH]:
            left = await look.ask_as_left(probes)
            if _UNTOLD in left or any(left.get(probe) for probe in probes):
                return Examined(left=left)
        found = await look.judge(await look.ask_as_left())
        if name:
            reports[name] = found
        return found
    except _EndedError as ended:
        return ended.found
    finally:
        await container.release()


class _EndedError(Exception):
    """What was found leaves nothing to be asked."""

    def __init__(self, found: Examined) -> None:
        super().__init__()
        self.found = found


@dataclass
class _Look:
    """One examination of one container."""

    container: Container
    healthy: Healthy
    places: Sequence[str]
    reference: Reference
    exam: str
    held: list[str] | None = None
    """Paths that were changed, while all is held."""

    async def hold(self) -> None:
        """All stands still, there is room, and the judge's programs are those that they were."""
        self.held = None
        await self.container.hold()
        if full := await self.container.list_full(PASSING, ROOM):
            raise _EndedError(Examined(room=False, detail=f"{', '.join(full)} full"))
        trusted = self.reference.trusted
        if replaced := find_changed(_keep_contents(trusted), _keep_contents(await read_trusted(self.container, trusted))):
            raise _EndedError(Examined(replaced=replaced))

    async def see_from_without(self) -> tuple[str, list[str]]:
        """The name of an equal machine's report, where files are all there is of it, and what was changed outside of its places."""
        await self.hold()
        if self.reference.ground is None:
            return "", []
        touched = await list_touched(self.container, self.healthy, self.reference.frame, self.reference.ground)
        if touched is None:
            return "", []
        self.held = touched.paths
        named = touched.name and self.reference.reports is not None and await self.container.is_still()
        return digest([touched.name, list(self.places), self.exam]) if named else "", self._list_outside(touched.paths)

    async def ask_as_left(self, probes: Sequence[str] = ()) -> dict[str, str]:
        """Necessary, never enough: whatever still runs could answer for the check. Where the check would import what was changed,
        it is not asked: it would be told to whoever changed that."""
        changes = await self._list_changes()
        if loaded := [path for path in changes if is_below(path, LOADED) and not _is_idle(path)]:
            return {_UNTOLD: f"the judge's programs would load {loaded[0]}"}
        try:
            return await check_health(self.container, self.healthy, self.reference.library, self.exam, probes, held=True)
        except SandboxError as error:
            return {_UNTOLD: str(error)[:200]}
        finally:
            self.held = None
            await self.container.release()

    async def judge(self, left: dict[str, str]) -> Examined:
        """By a copy, if nothing speaks against it before. Where the check says nothing there either, a service that starts in it saw to
        that: it gave its report as the machine was left."""
        inside, lasting = list[str](), dict[str, str]()
        for _ in range(2):
            changes = await self._list_changes()
            inside = [place for place in self.places if any(is_below(path, [place]) for path in changes)]
            outside = self._list_outside(changes)
            if outside or any(left.values()):
                return Examined(left=left, inside=inside, outside=outside[:TOLD])
            try:
                return Examined(left=left, inside=inside, lasting=await self._ask_copy(changes))
            except NoReportError as error:
                self.held, lasting = None, {_UNTOLD: str(error)[:200]}
        return Examined(left=left, inside=inside, lasting=lasting)

    async def _ask_copy(self, changes: Sequence[str]) -> dict[str, str]:
        """Health after a restart."""
        kept = [(place, moved) for place in self.places if is_below(place, PASSING) and (moved := await self.container.get(place))]
        homes = [] if any(is_below(place, [HOME]) for place in self.places) else [HOME]
        copy = await self.container.copy([*PASSING, *homes])
        try:
            await self._restart(copy, changes, [(place, moved.content or b"") for place, moved in kept if moved.code != "ENOENT"])
            return await check_health(copy, self.healthy, self.reference.library, self.exam)
        finally:
            await copy.down()

    async def _restart(self, copy: Container, changes: Sequence[str], kept: Sequence[tuple[str, bytes]]) -> None:
        """As after a restart of the machine. What Python compiled is taken away, and what was broken where a restart clears is kept."""
        script = [f"rm -f -- {' '.join(map(quote, compiled))}"] if (compiled := [path for path in changes if path.endswith(".pyc")]) else []
        if self.reference.running:
            script.append(f"tar -C {RUNNING} -xpf -")
        script.append(f"mkdir -p {' '.join(EXAM_FOLDERS)}")
        await run(copy, "\n".join(script), given=self.reference.running)
        for place, content in kept:
            await put(copy, place, content)
        await copy.seal([*(place for place in self.places if is_below(place, SHUT)), *EXAM_FOLDERS])
        await restart(copy, self.healthy)

    async def _list_changes(self) -> list[str]:
        if self.held is None:
            await self.hold()
            self.held = self.reference.frame.find_changed(await list_frame(self.container, self.healthy, self.reference.ground))
        return self.held

    def _list_outside(self, changes: Sequence[str]) -> list[str]:
        return [path for path in changes if not _may_change(path, self.places, self.reference)]


async def read_trusted(container: Container, known: Mapping[str, Digest]) -> dict[str, Digest]:
    """From without; what is not there has no digest, and what was not written to since is as it was."""
    found = await container.digest(TRUSTED, {path: each.mark for path, each in known.items()})
    return {path: each if each.content else known[path] for path, each in found.items()}


def _keep_contents(trusted: Mapping[str, Digest]) -> dict[str, str]:
    return {path: each.content for path, each in trusted.items()}


def find_changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def is_compiled(path: str) -> bool:
    """What Python writes when it imports as root: the folder, and files of its kind right in it."""
    above, _, name = path.rpartition("/")
    return name == CACHE or (name.endswith(".pyc") and above.endswith(f"/{CACHE}"))


def _is_idle(path: str) -> bool:
    """Compiled, and where no program of the judge's looks for it."""
    return is_compiled(path) and not is_below(path, [CLEAN["HOME"]])


def is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _may_change(path: str, places: Sequence[str], reference: Reference) -> bool:
    """Where something was broken, and new copies beside it. Python compiles what it imports: such files may change, and are taken away."""
    if is_below(path, places) or is_compiled(path):
        return True
    return reference.frame.tell(path) is None and any(is_below(path.removesuffix(each), places) for each in SPARES if path.endswith(each))
