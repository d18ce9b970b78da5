"""A healthy system in a container: set up, restarted, asked how it is."""

import io
import json
import re
import secrets
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import CommandResult, Container
from envmill.sandbox.machines import inside
from envmill.sandbox.machines.healthy import SERVICES, Healthy, mode_of, owner_of, quote
from envmill.sandbox.machines.inside.probing import ENVIRONMENT, list_imports
from schemas.base import Json

PROGRAMS = Path(inside.__file__).parent
ASK = (PROGRAMS / "asking.py").read_text(encoding="utf-8")
JUDGE = "/run/judge-"
"""What the judge writes in a container begins so; nothing of it says what is expected."""
IMPORTED = ("ctypes", "http.client", "json", "pathlib", "pwd", "re", "shutil", "signal", "socket", "sqlite3", "struct", "subprocess",
            "tarfile", "tempfile", "time", "typing", "urllib.parse", "zipimport")  # fmt: skip
"""What probes are written with, of the standard library."""
SECONDS = 60
DATED = 1_767_225_600
"""Change time of a machine's files, 1 January 2026: before 1980 some programs refuse to pack
them."""
SET_UP = {"PATH": ENVIRONMENT["PATH"], "HOME": "/", "LANG": "C.UTF-8"}
"""No home of anybody: interpreters look for modules there."""
CLEAN = {**ENVIRONMENT, "LANG": "C.UTF-8"}
PATIENCE = 120
"""Seconds for a health check to give its report."""
_PYTEST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class NoRoomError(Exception):
    """The container is full: that is a command's doing, and no outage."""


class NoReportError(SandboxError):
    """A health check ended without a word, in a container that works: its own fault, or that of a
    program beside it."""


Containers: TypeAlias = Callable[[], AbstractAsyncContextManager[Container]]
"""Opens a container on the base image, and takes it down."""


async def set_up(container: Container, healthy: Healthy) -> None:
    """A healthy system, its services running."""
    await put(container, "/tmp/system.tar", pack(healthy))
    await must_run(container, write_set_up(healthy), f"set up the system {healthy.system.name}")


def write_set_up(healthy: Healthy) -> str:
    """What a container is told once the files are there, packed."""
    unpack = ["tar -C / --no-same-owner -xpf /tmp/system.tar", "rm /tmp/system.tar"]
    return "\n".join(
        ["set -e", "umask 022", *unpack, *write_commands(healthy)[2:], f"{SERVICES} start"]
    )


def write_commands(healthy: Healthy) -> list[str]:
    """What an image recipe runs once the files are there."""
    system = healthy.system
    users = [f"useradd -r -U -M -d / -s /usr/sbin/nologin {each}" for each in system.users]
    groups = [
        f"groupadd {name}\n" + "\n".join(f"usermod -aG {name} {each}" for each in members)
        for name, members in system.groups.items()
    ]
    folders = [f"mkdir -p {quote(each)}" for each in system.directories]
    owners = [f"chown -h {owner_of(healthy, each)} {quote(each)}" for each in system.owners]
    modes = [f"chmod {mode_of(healthy, each)} {quote(each)}" for each in system.modes]
    return ["set -e", "umask 022", *users, *groups, *folders, system.set_up, *owners, *modes]


async def restart(container: Container, healthy: Healthy) -> None:
    """With a copy of our own: the one in the container may have been edited. A service that does
    not come up is the check's to say."""
    if not healthy.system.services:
        return
    words = ["/bin/bash", "-c", 'told=$(cat); exec </dev/null; eval "$told"', "services", "restart"]
    await container.run(words, seconds=SECONDS, given=healthy.files[SERVICES], environment=CLEAN)


async def pack_library(container: Container) -> bytes:
    """What health checks import, compiled where nothing was done yet."""
    path = f"{JUDGE}{secrets.token_hex(8)}"
    await put(container, path, (PROGRAMS / "packing.py").read_bytes())
    ran = await run(
        container, f"cd /; /usr/bin/python3 -I -S -B {path} {' '.join(IMPORTED)}; rm {path}"
    )
    if ran.code or ran.left_out:
        raise SandboxError(
            f"The library of the base image could not be packed: {ran.text[-500:]}. Make the image again: envmill base."
        )
    return ran.output


async def check_health(
    container: Container, healthy: Healthy, library: bytes = b"", exam: str = "", probes: Sequence[str] = (), *, held: bool = False
) -> dict[str, str]:  # fmt: skip
    """Probe → what is wrong, empty where nothing is. With a packed library the container's own is
    passed over, but
    for tests: pytest is the container's, and so is the library that it imports. Probes are
    the health check's, those that are named or all, or the tests of the file named. Of a container
    that is `held` the check lets
    everything go on once it has imported what it needs."""
    marker, values = secrets.token_hex(16), healthy.values
    services = {name: each.model_dump() for name, each in healthy.system.services.items()}
    if exam:
        given: dict[str, Json] = {
            "source": healthy.exams[exam],
            "marker": marker,
            "folder": f"{JUDGE}{secrets.token_hex(8)}",
        }
        texts = {name: (PROGRAMS / name).read_text() for name in ("probing.py", "examining.py")}
    else:
        given = {
            "marker": marker,
            "values": values,
            "services": services,
            "asked": list(probes),
            "imports": list_library(healthy.check),
        }
        texts = {"probing.py": (PROGRAMS / "probing.py").read_text(), "check.py": healthy.check}
    texts["given.json"] = json.dumps({**given, "held": held})
    words = [
        "/usr/bin/python3",
        "-I",
        "-S",
        "-B",
        "-X",
        f"pycache_prefix={CLEAN['HOME']}",
        "-c",
        ASK,
        "examining" if exam else "check",
    ]
    ran = await container.run(
        words,
        seconds=PATIENCE,
        given=add_to_archive(b"" if exam else library, texts),
        environment=CLEAN | _PYTEST,
        cap=16 << 20,
        judges=True,
    )
    found = re.findall(rf"^{marker}(.*)$", ran.text, re.MULTILINE)
    if len(found) != 1:
        asked, shown = (
            (f"The test file {exam}", -1500)
            if exam
            else (f"The health check of {healthy.system.name}", -500)
        )
        raise NoReportError(f"{asked} gave no report: {ran.text[shown:]}. Mend it or the machine.")
    return json.loads(found[0])


def list_library(check: str) -> list[str]:
    """Modules of the standard library that a health check names. No other is ever imported ahead:
    it would be the container's."""
    try:
        names = list_imports(check)
    except SyntaxError:
        return []
    return sorted({name for name in names if name.partition(".")[0] in sys.stdlib_module_names})


def add_to_archive(archive: bytes, texts: Mapping[str, str]) -> bytes:
    """Files into a copy of an archive, or into a new one."""
    packed = io.BytesIO(archive)
    with zipfile.ZipFile(packed, "a") as opened:
        for name, text in texts.items():
            opened.writestr(name, text)
    return packed.getvalue()


async def must_run(container: Container, script: str, purpose: str, given: bytes = b"") -> None:
    ran = await run(container, script, given=given)
    if ran.code:
        raise SandboxError(f"Could not {purpose}: exit code {ran.code}, {ran.text[-500:]}")


def pack(healthy: Healthy) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in healthy.files.items():
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.mtime = DATED
            entry.size, entry.mode = (
                len(content),
                int("755" if name == SERVICES else mode_of(healthy, name), 8),
            )
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


async def run(
    container: Container, script: str, seconds: float = SECONDS, given: bytes = b""
) -> CommandResult:
    """A script in a shell of its own, which knows nothing of the agent's."""
    return await container.run(
        ["/bin/bash", "-c", script], seconds=seconds, given=given, environment=SET_UP, cap=16 << 20
    )


async def put(container: Container, path: str, content: bytes, mode: int = 0o644) -> None:
    moved = await container.put(path, content, mode=mode)
    if moved.code in ("ENOSPC", "EDQUOT"):
        raise NoRoomError(path)
    if moved.content is None:
        raise SandboxError(f"{path} could not be put into the container: {moved.reason}.")
