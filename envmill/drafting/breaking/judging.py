"""What became of a broken system: healthy as it was left and after a restart, by real services, and nothing else changed.

Trust is built up from without: the few files that the judge's own programs run by are read by the engine and compared; then everything that
runs is killed, so that nothing can meddle; then the frame is listed, by modules frozen into the interpreter; only then are services started
from a copy of ours and the health check is asked. What an agent leaves behind can spoil its own verdict and nothing more.
"""

import hashlib
from typing import NamedTuple

from envmill.drafting.breaking.machine import Machine, check_health, list_frame, restart
from envmill.drafting.breaking.proving import find_changed, is_within
from envmill.drafting.breaking.systems import Healthy
from envmill.errors import SandboxError
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


def take_reference(machine: Machine, healthy: Healthy) -> Reference:
    return Reference(list_frame(machine, healthy), _read_trusted(machine))


def judge(machine: Machine, healthy: Healthy, broken: Broken, reference: Reference) -> Judgement:
    """An error says that nothing is known; an agent cannot bring one about by what it changes, for that is looked at first."""
    left = _ask_as_left(machine, healthy)
    try:
        return _judge(machine, healthy, broken, reference, left)
    except SandboxError as error:
        return Judgement(verdict="error", reason="no_report", detail=str(error))


def _judge(machine: Machine, healthy: Healthy, broken: Broken, reference: Reference, left: dict[str, str]) -> Judgement:
    for _ in range(2):
        if replaced := find_changed(reference.trusted, _read_trusted(machine)):
            return Judgement(verdict="fail", reason="replaced_program", detail=", ".join(replaced))
        machine.run("kill -9 -1")
    frame = list_frame(machine, healthy)
    if changed := [path for path in find_changed(reference.frame, frame) if not _may_change(path, broken, reference)]:
        return Judgement(verdict="fail", reason="collateral", detail=", ".join(changed[:5]))
    if left:
        return Judgement(verdict="fail", reason="still_broken", detail=str(left))
    restart(machine, healthy)
    if said := {probe: words for probe, words in check_health(machine, healthy).items() if words}:
        return Judgement(verdict="fail", reason="not_lasting", detail=str(said))
    return Judgement(verdict="pass")


def _ask_as_left(machine: Machine, healthy: Healthy) -> dict[str, str]:
    """Necessary, never enough: whatever still runs could answer for the check."""
    try:
        return {probe: words for probe, words in check_health(machine, healthy).items() if words}
    except SandboxError as error:
        return {"check": str(error)[:200]}


def _read_trusted(machine: Machine) -> dict[str, str]:
    """From without; what is not there has no digest."""
    contents = {path: machine.get(path) for path in TRUSTED}
    return {path: hashlib.blake2b(content, digest_size=16).hexdigest() for path, content in contents.items() if content is not None}


def _may_change(path: str, broken: Broken, reference: Reference) -> bool:
    """Where something was broken, and new copies beside it."""
    if is_within(path, broken):
        return True
    return (
        path not in reference.frame
        and path.endswith(SPARES)
        and is_within(path.rstrip("~").rsplit(".", 1)[0] if path[-1] != "~" else path[:-1], broken)
    )
