"""What became of a machine that somebody worked on, by a judge that trusts nothing that ran there.

all held ─► programs compared from without ─► files listed and compared ─► health as left, by a process that nobody can look into
─► all held, compared again ─► a copy in which nothing runs, programs and settings shut ─► services from a copy of ours ─► health

Trust is built up from without: while everything is held, the few files that the judge's own
programs run by are read by the engine and compared; then the frame is listed, by the engine or by
modules frozen into the interpreter. Health as left is necessary and never enough. What counts is
asked in a copy of the files. It has no process of the agent's; what is not compared is empty there,
or as it was at the beginning. What an agent leaves behind can spoil its own verdict and nothing
more.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import Container, Digest
from envmill.sandbox.machines.frame import (
    BaseListing,
    Frame,
    list_frame,
    list_ground,
    list_touched,
    list_volatile,
)
from envmill.sandbox.machines.healthy import Healthy, quote
from envmill.sandbox.machines.machine import (
    CLEAN,
    NoReportError,
    check_health,
    must_run,
    pack_library,
    put,
    restart,
    run,
)
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
"""All that has a say before the frame is listed: two programs, their libraries, and what tells the
loader where these are."""

OUTSIDE, HEALTH = "outside", "health"
"""Parts of the state that a look may end with."""
_UNTOLD = "check"
"""Stands in place of all probes where the check gave no report."""

LOOKS, PAUSE = 20, 0.1
"""Looks at a machine whose services somebody wrote before it is taken to be at rest, and seconds
between two."""

TOLD = 500
"""Changed paths that are told; an agent can change as many as a machine holds."""

ROOM = 1 << 20
"""Bytes that a machine has to have left, in memory and on its disk: a full one does not work."""
RUNNING = "/run"
PASSING = ("/tmp", "/var/tmp", "/run", "/dev/shm")
"""What a restart empties."""
SHUT = ("/etc", "/usr")
CACHE = "__pycache__"
"""Where Python keeps what it compiled."""
COMPILED = re.compile(r"[\w-]+\.cpython-\d+(\.opt-[12])?\.pyc", re.ASCII)
"""How it calls that; no other name is taken away from a copy by the name that a list of files
tells."""
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
"""Where the judge's programs load what they are made of; compiled files are looked for below the
home that does not exist."""

SPARES = (".bak", ".orig", ".old", ".save", ".dpkg-old", "~")
"""Endings of copies that careful people leave beside what they edit."""


class Baseline(NamedTuple):
    """What stood there before the agent's first command; it is kept outside."""

    frame: Frame
    trusted: dict[str, Digest]
    ground: BaseListing | None = None
    """What its container began with, where that is listed once for many."""
    library: bytes = b""
    """What health checks import."""
    running: bytes = b""
    """What stood in memory (`/run`) before any service ran, packed."""
    volatile: bytes = b""
    """What stood where nobody compares, packed."""
    reports: "dict[str, Examination] | None" = None
    """What machines that began alike came to → what they showed; None where none is kept."""


EXAM_FOLDERS = ("/tests", "/logs")
"""Where tests of other formats lie and report while they run: below `/`, which a sealed copy cannot
write to."""


@dataclass(frozen=True)
class Examination:
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


async def take_ground(container: Container, healthy: Healthy, library: bytes = b"") -> BaseListing:
    """Of a container in which nothing was done yet; without a packed library, its own is packed."""
    library, trusted = library or await pack_library(container), await read_trusted(container, {})
    return await list_ground(container, healthy, trusted, library)


async def take_reference(
    container: Container, healthy: Healthy, ground: BaseListing | None = None, volatile: bytes = b""
) -> Baseline:
    """A ground knows the programs, too: nobody's command was run in between. What is volatile is
    packed unless it is given."""
    frame = await _list_at_rest(container, healthy, ground)
    volatile = volatile or await pack_volatile(container, healthy)
    if ground is None:
        return Baseline(frame, await read_trusted(container, {}), volatile=volatile)
    return Baseline(
        frame,
        await read_trusted(container, ground.trusted),
        ground,
        ground.library,
        volatile=volatile,
    )


async def _list_at_rest(
    container: Container, healthy: Healthy, ground: BaseListing | None
) -> Frame:
    """The frame, once it is the same twice: a service that an author wrote may still write what it
    writes when it starts."""
    frame = await list_frame(container, healthy, ground)
    for _ in range(LOOKS if healthy.exams and healthy.system.services else 0):
        await asyncio.sleep(PAUSE)
        before, frame = frame, await list_frame(container, healthy, ground)
        if not before.find_changed(frame):
            break
    return frame


async def pack_volatile(container: Container, healthy: Healthy) -> bytes:
    """What a sealed copy begins with again. Files that services write to meanwhile are taken as
    they are."""
    paths = " ".join(
        quote(path.lstrip("/")) for path in list_volatile(healthy) if not is_below(path, PASSING)
    )
    there = (
        f'there=(); for each in {paths}; do [ -e "$each" ] || [ -L "$each" ] && '
        'there+=("$each"); done'
    )
    ran = await run(
        container,
        f'cd /; {there}; tar --numeric-owner -T /dev/null -cf - -- "${{there[@]}}" 2>/dev/null',
    )
    if ran.code not in (0, 1) or ran.left_out:
        raise SandboxError(
            f"The volatile files of {healthy.system.name} could not be packed: exit code "
            f"{ran.code}, {len(ran.output)} bytes."
        )
    return ran.output


async def examine(
    container: Container, healthy: Healthy, places: Sequence[str], reference: Baseline, exam: str = "",
    until: Sequence[Sequence[str]] = (), known: bool = False,
) -> Examination:  # fmt: skip
    """SandboxError says that nothing is known; an agent cannot bring one about by what it changes,
    for that is looked at first.

    What one of the paths `until` shows amiss is all that is asked: nothing outside (OUTSIDE), or a
    probe well (HEALTH, its name).
    Where it is `known` what an equal machine showed, that is enough.
    """
    look = _Examination(container, healthy, places, reference, exam)
    reports = reference.reports if reference.reports is not None else {}
    try:
        name, outside = await look.see_from_without()
        if known and name in reports:
            return reports[name]
        if outside and [OUTSIDE] in map(list, until):
            return Examination(outside=outside)
        if probes := [path[-1] for path in until if path[0] == HEALTH]:
            left = await look.ask_as_left(probes)
            if _UNTOLD in left or any(left.get(probe) for probe in probes):
                return Examination(left=left)
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

    def __init__(self, found: Examination) -> None:
        super().__init__()
        self.found = found


@dataclass
class _Examination:
    """One examination of one container."""

    container: Container
    healthy: Healthy
    places: Sequence[str]
    reference: Baseline
    exam: str
    held: list[str] | None = None
    """Paths that were changed, while all is held."""

    async def hold(self) -> None:
        """All stands still, there is room, and the judge's programs are those that they were."""
        self.held = None
        await self.container.hold()
        if full := await self.container.list_full(PASSING, ROOM):
            raise _EndedError(Examination(room=False, detail=f"{', '.join(full)} full"))
        trusted = self.reference.trusted
        if replaced := find_changed(
            _keep_contents(trusted), _keep_contents(await read_trusted(self.container, trusted))
        ):
            raise _EndedError(Examination(replaced=replaced))

    async def see_from_without(self) -> tuple[str, list[str]]:
        """The name of an equal machine's report, where files are all there is of it, and what was
        changed outside of its places."""
        await self.hold()
        if self.reference.ground is None:
            return "", []
        touched = await list_touched(
            self.container, self.healthy, self.reference.frame, self.reference.ground
        )
        if touched is None:
            return "", []
        self.held = touched.paths
        named = (
            touched.name and self.reference.reports is not None and await self.container.is_still()
        )
        return digest(
            [touched.name, list(self.places), self.exam]
        ) if named else "", self._list_outside(touched.paths)

    async def ask_as_left(self, probes: Sequence[str] = ()) -> dict[str, str]:
        """Necessary, never enough: whatever still runs could answer for the check. Where the check
        would import what was changed,
        it is not asked: it would be told to whoever changed that."""
        changes = await self._list_changes()
        if loaded := [path for path in changes if is_below(path, LOADED) and not _is_idle(path)]:
            return {_UNTOLD: f"the judge's programs would load {loaded[0]}"}
        try:
            return await check_health(
                self.container, self.healthy, self.reference.library, self.exam, probes, held=True
            )
        except SandboxError as error:
            return {_UNTOLD: str(error)[:200]}
        finally:
            self.held = None
            await self.container.release()

    async def judge(self, left: dict[str, str]) -> Examination:
        """By a copy, if nothing speaks against it before. Where the check says nothing there
        either, a service that starts in it saw to
        that: it gave its report as the machine was left."""
        inside, lasting = list[str](), dict[str, str]()
        for _ in range(2):
            changes = await self._list_changes()
            inside = [
                place for place in self.places if any(is_below(path, [place]) for path in changes)
            ]
            outside = self._list_outside(changes)
            if outside or any(left.values()):
                return Examination(left=left, inside=inside, outside=outside[:TOLD])
            try:
                return Examination(left=left, inside=inside, lasting=await self._ask_copy(changes))
            except NoReportError as error:
                self.held, lasting = None, {_UNTOLD: str(error)[:200]}
        return Examination(left=left, inside=inside, lasting=lasting)

    async def _ask_copy(self, changes: Sequence[str]) -> dict[str, str]:
        """Health after a restart."""
        kept = [
            (place, moved)
            for place in self.places
            if is_below(place, PASSING) and (moved := await self.container.get(place))
        ]
        returned = [
            path
            for path in list_volatile(self.healthy)
            if not is_below(path, [*PASSING, *self.places])
        ]
        # What is put right by name is not copied; a folder in which something was broken is, and
        # the rest of it taken away.
        copy = await self.container.copy(
            [
                *PASSING,
                *(
                    each
                    for each in returned
                    if not any(is_below(place, [each]) for place in self.places)
                ),
            ]
        )
        try:
            await self._clear(copy, changes, returned)
            await self._restart(
                copy,
                [(place, moved.content or b"") for place, moved in kept if moved.code != "ENOENT"],
            )
            return await check_health(copy, self.healthy, self.reference.library, self.exam)
        finally:
            await copy.down()

    async def _clear(
        self, copy: Container, changes: Sequence[str], returned: Sequence[str]
    ) -> None:
        """Nothing stays where anything may lie: copies beside what was mended and compiled files
        go, volatile ones are as at first."""
        if left := [path for path in changes if self._is_left(path)]:
            await must_run(copy, "xargs -0r rm -rf --", "empty a copy", "\0".join(left).encode())
        inside = [place for place in self.places if is_below(place, returned)]
        kept = [
            *inside,
            *(path for path in list_volatile(self.healthy) if is_below(path, self.places)),
        ]
        spared = " ".join(
            f"! -path {quote(_escape(each))} ! -path {quote(_escape(each) + '/*')}"
            for each in inside
        )
        excluded = " ".join(f"--exclude={quote(each.lstrip('/'))}" for each in kept)
        script = [
            *(
                [f"find {' '.join(map(quote, returned))} -depth {spared} -delete 2>/dev/null"]
                if returned
                else []
            ),
            f"mkdir -p {' '.join(EXAM_FOLDERS)}",
            f"tar -C / --numeric-owner --anchored --no-wildcards {excluded} -xpf -",
        ]
        await must_run(
            copy, "\n".join(script), "put back what is volatile", self.reference.volatile
        )

    def _is_left(self, path: str) -> bool:
        """What may be there when an agent has done its work, and belongs to no place. Nor do
        compiled files, wherever they are."""
        return is_compiled(path) or (
            not is_below(path, self.places) and _may_change(path, self.places, self.reference)
        )

    async def _restart(self, copy: Container, kept: Sequence[tuple[str, bytes]]) -> None:
        """As after a restart of the machine. What was broken where a restart clears is kept."""
        await copy.seal([*(place for place in self.places if is_below(place, SHUT)), *EXAM_FOLDERS])
        if self.reference.running:
            await run(copy, f"tar -C {RUNNING} -xpf -", given=self.reference.running)
        for place, content in kept:
            await put(copy, place, content)
        await restart(copy, self.healthy)

    async def _list_changes(self) -> list[str]:
        if self.held is None:
            await self.hold()
            self.held = self.reference.frame.find_changed(
                await list_frame(self.container, self.healthy, self.reference.ground)
            )
        return self.held

    def _list_outside(self, changes: Sequence[str]) -> list[str]:
        return [path for path in changes if not _may_change(path, self.places, self.reference)]


async def read_trusted(container: Container, known: Mapping[str, Digest]) -> dict[str, Digest]:
    """From without; what is not there has no digest, and what was not written to since is as it
    was."""
    found = await container.digest(TRUSTED, {path: each.mark for path, each in known.items()})
    return {path: each if each.content else known[path] for path, each in found.items()}


def _keep_contents(trusted: Mapping[str, Digest]) -> dict[str, str]:
    return {path: each.content for path, each in trusted.items()}


def find_changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )


def is_compiled(path: str) -> bool:
    """What Python writes when it imports as root: the folder, and files of its kind right in it."""
    above, _, name = path.rpartition("/")
    return name == CACHE or (COMPILED.fullmatch(name) is not None and above.endswith(f"/{CACHE}"))


def _is_idle(path: str) -> bool:
    """Compiled, and where no program of the judge's looks for it."""
    return is_compiled(path) and not is_below(path, [CLEAN["HOME"]])


def _escape(path: str) -> str:
    """For `find`, which takes a path for a pattern."""
    return re.sub(r"([\\*?\[])", r"\\\1", path)


def is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _may_change(path: str, places: Sequence[str], reference: Baseline) -> bool:
    """Where something was broken, and new copies beside it. Python compiles what it imports: such
    files may change, and are taken away."""
    if is_below(path, places) or is_compiled(path):
        return True
    return reference.frame.describe(path) is None and any(
        is_below(path.removesuffix(each), places) for each in SPARES if path.endswith(each)
    )
