"""What became of a machine that somebody worked on, by a judge that trusts nothing that ran there.

as left: health ─► programs compared from without ─► all that runs is killed ─► compared again ─► files listed and compared
─► services started from a copy of ours ─► health

Trust is built up from without: the few files that the judge's own programs run by are read by the engine and compared; then everything that
runs is killed, so that nothing can meddle; then the frame is listed, by the engine or by modules frozen into the interpreter; only then are
services started from a copy of ours and the health check is asked. What an agent leaves behind can spoil its own verdict and nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envmill.errors import SandboxError
from envmill.sandbox.containers import Container, Digest
from envmill.sandbox.machines.frame import Frame, Ground, Touched, list_frame, list_ground, list_touched
from envmill.sandbox.machines.healthy import Healthy, quote
from envmill.sandbox.machines.machine import NoRoomError, check_health, pack_library, restart, run
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
    reports: "dict[str, Examined] | None" = None
    """What machines that began alike came to → what they showed; None where none is kept."""


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
    try:
        touched = await _find_touched(container, healthy, reference, needed=bool(until) or reference.reports is not None)
        name = await _name_state(container, touched, places, exam) if touched and reference.reports is not None else ""
        reports = reference.reports if name and reference.reports is not None else {}
        if known and name in reports:
            return reports[name]
        if found := await _glance(container, healthy, places, reference, exam, until, touched):
            return found
        left = await _ask_as_left(container, healthy, reference, exam)
        reports[name] = await _examine(container, healthy, places, reference, exam, left)
        return reports[name]
    except NoRoomError as full:
        return Examined(room=False, detail=str(full))


async def _find_touched(container: Container, healthy: Healthy, reference: Reference, *, needed: bool) -> Touched | None:
    """What was changed so far, while all goes on running: whatever is made of it is seen again, or nothing runs."""
    return await list_touched(container, healthy, reference.frame, reference.ground) if needed and reference.ground else None


async def _name_state(container: Container, touched: Touched, places: Sequence[str], exam: str) -> str:
    """What a machine came to of which its files are all there is; empty for any other."""
    return digest([touched.name, list(places), exam]) if touched.name and await container.is_still() else ""


async def _glance(
    container: Container, healthy: Healthy, places: Sequence[str], reference: Reference, exam: str,
    until: Sequence[Sequence[str]], touched: Touched | None,
) -> Examined | None:  # fmt: skip
    """What takes least time first: what was changed, then the probes that count."""
    if touched and [OUTSIDE] in map(list, until) and any(not _may_change(path, places, reference) for path in touched.paths):
        found = await _examine(container, healthy, places, reference, exam, {})
        if not found.replaced and not found.outside:
            raise SandboxError("What was changed outside its places was so no more once all that ran was ended. Ask for the whole state.")
        return found
    if probes := [path[-1] for path in until if path[0] == HEALTH]:
        left = await _ask_as_left(container, healthy, reference, exam, probes)
        if _UNTOLD in left or any(left.get(probe) for probe in probes):
            return Examined(left=left)
    return None


async def _examine(
    container: Container, healthy: Healthy, places: Sequence[str], reference: Reference, exam: str, left: dict[str, str]
) -> Examined:  # fmt: skip
    for _ in range(2):
        if replaced := find_changed(_keep_contents(reference.trusted), _keep_contents(await read_trusted(container, reference.trusted))):
            return Examined(replaced=replaced, left=left)
        await container.quell()
    changes = reference.frame.find_changed(await list_frame(container, healthy, reference.ground))
    inside = [place for place in places if any(is_below(path, [place]) for path in changes)]
    outside = [path for path in changes if not _may_change(path, places, reference)]
    if outside or any(left.values()):
        return Examined(left=left, inside=inside, outside=outside[:TOLD])
    if compiled := [quote(path) for path in changes if path.endswith(".pyc")]:
        await run(container, f"rm -f -- {' '.join(compiled)}")
    await restart(container, healthy)
    return Examined(left=left, inside=inside, lasting=await check_health(container, healthy, reference.library, exam))


async def _ask_as_left(
    container: Container, healthy: Healthy, reference: Reference, exam: str, probes: Sequence[str] = ()
) -> dict[str, str]:  # fmt: skip
    """Necessary, never enough: whatever still runs could answer for the check."""
    try:
        return await check_health(container, healthy, reference.library, exam, probes)
    except SandboxError as error:
        return {_UNTOLD: str(error)[:200]}


async def read_trusted(container: Container, known: Mapping[str, Digest]) -> dict[str, Digest]:
    """From without; what is not there has no digest, and what was not written to since is as it was."""
    found = await container.digest(TRUSTED, {path: each.mark for path, each in known.items()})
    return {path: each if each.content else known[path] for path, each in found.items()}


def _keep_contents(trusted: Mapping[str, Digest]) -> dict[str, str]:
    return {path: each.content for path, each in trusted.items()}


def find_changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def is_compiled(path: str) -> bool:
    """What Python writes when it imports as root."""
    return "__pycache__" in path.split("/")


def is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _may_change(path: str, places: Sequence[str], reference: Reference) -> bool:
    """Where something was broken, and new copies beside it. Python compiles what it imports: such files may change, and are taken away."""
    if is_below(path, places) or is_compiled(path):
        return True
    return reference.frame.tell(path) is None and any(is_below(path.removesuffix(each), places) for each in SPARES if path.endswith(each))
