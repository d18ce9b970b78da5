"""What became of a broken system: healthy as it was left and after a restart, by real services, and nothing else changed.

Trust is built up from without: the few files that the judge's own programs run by are read by the engine and compared; then everything that
runs is killed, so that nothing can meddle; then the frame is listed, by modules frozen into the interpreter; only then are services started
from a copy of ours and the health check is asked. What an agent leaves behind can spoil its own verdict and nothing more.
"""

import hashlib
from typing import NamedTuple

from envmill.drafting.breaking.base import quote
from envmill.drafting.breaking.machine import NoRoomError, check_health, list_frame, restart, run
from envmill.drafting.breaking.proving import find_changed, is_compiled, is_within
from envmill.drafting.breaking.systems import Healthy
from envmill.errors import SandboxError
from envmill.sandbox.containers import Container
from schemas.system import Broken, Judgement

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

SPARES = (".bak", ".orig", ".old", ".save", ".dpkg-old", "~")
"""Endings of copies that careful people leave beside what they edit."""


class Reference(NamedTuple):
    """What stood there before the agent's first command; it is kept outside."""

    frame: dict[str, str]
    trusted: dict[str, str]


async def take_reference(container: Container, healthy: Healthy) -> Reference:
    return Reference(await list_frame(container, healthy), await _read_trusted(container))


async def judge(container: Container, healthy: Healthy, broken: Broken, reference: Reference) -> Judgement:
    """An error says that nothing is known; an agent cannot bring one about by what it changes, for that is looked at first."""
    try:
        left = await _ask_as_left(container, healthy)
        return await _judge(container, healthy, broken, reference, left)
    except NoRoomError as full:
        return Judgement(verdict="fail", reason="no_room", detail=str(full))
    except SandboxError as error:
        return Judgement(verdict="error", reason="no_report", detail=str(error))


async def _judge(container: Container, healthy: Healthy, broken: Broken, reference: Reference, left: dict[str, str]) -> Judgement:
    for _ in range(2):
        if replaced := find_changed(reference.trusted, await _read_trusted(container)):
            return Judgement(verdict="fail", reason="replaced_program", detail=", ".join(replaced))
        await container.quell()
    changes = find_changed(reference.frame, await list_frame(container, healthy))
    if changed := [path for path in changes if not _may_change(path, broken, reference)]:
        return Judgement(verdict="fail", reason="collateral", detail=", ".join(changed[:5]))
    if left:
        return Judgement(verdict="fail", reason="still_broken", detail=str(left))
    if compiled := [quote(path) for path in changes if path.endswith(".pyc")]:
        await run(container, f"rm -f -- {' '.join(compiled)}")
    await restart(container, healthy)
    if said := {probe: words for probe, words in (await check_health(container, healthy)).items() if words}:
        return Judgement(verdict="fail", reason="not_lasting", detail=str(said))
    return Judgement(verdict="pass")


async def _ask_as_left(container: Container, healthy: Healthy) -> dict[str, str]:
    """Necessary, never enough: whatever still runs could answer for the check."""
    try:
        return {probe: words for probe, words in (await check_health(container, healthy)).items() if words}
    except SandboxError as error:
        return {"check": str(error)[:200]}


async def _read_trusted(container: Container) -> dict[str, str]:
    """From without; what is not there has no digest."""
    contents = {path: (await container.get(path)).content for path in TRUSTED}
    return {path: hashlib.blake2b(content, digest_size=16).hexdigest() for path, content in contents.items() if content is not None}


def _may_change(path: str, broken: Broken, reference: Reference) -> bool:
    """Where something was broken, and new copies beside it. Python compiles what it imports: such files may change, and are taken away."""
    if is_within(path, broken) or is_compiled(path):
        return True
    return path not in reference.frame and any(is_within(path.removesuffix(each), broken) for each in SPARES if path.endswith(each))
