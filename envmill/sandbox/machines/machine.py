"""A healthy system in a container: set up, restarted, asked how it is, listed file by file."""

import io
import json
import re
import secrets
import tarfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

from envmill.errors import SandboxError
from envmill.sandbox.containers import Container, Ran
from envmill.sandbox.machines import inside
from envmill.sandbox.machines.healthy import SERVICES, Healthy, mode_of, owner_of, quote

PROGRAMS = Path(inside.__file__).parent
JUDGE = "/run/judge-"
"""The judge's own folder begins so; a random word follows, and it is gone before the agent's next command."""
SECONDS = 60
DATED = 1_767_225_600
"""Change time of a machine's files, 1 January 2026: before 1980 some programs refuse to pack them."""
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "LANG": "C.UTF-8"}
"""No home of anybody: interpreters look for modules there."""


class NoRoomError(Exception):
    """The container is full: that is a command's doing, and no outage."""


Containers: TypeAlias = Callable[[], AbstractAsyncContextManager[Container]]
"""Opens a container on the base image, and takes it down."""


async def set_up(container: Container, healthy: Healthy) -> None:
    """A healthy system, its services running."""
    await put(container, "/tmp/system.tar", pack(healthy))
    await must_run(container, write_set_up(healthy), f"set up the system {healthy.system.name}")


def write_set_up(healthy: Healthy) -> str:
    """What a container is told once the files are there, packed."""
    unpack = ["tar -C / --no-same-owner -xpf /tmp/system.tar", "rm /tmp/system.tar"]
    return "\n".join(["set -e", "umask 022", *unpack, *write_commands(healthy)[2:], f"{SERVICES} start"])


def write_commands(healthy: Healthy) -> list[str]:
    """What an image recipe runs once the files are there."""
    system = healthy.system
    users = [f"useradd -r -U -M -d / -s /usr/sbin/nologin {each}" for each in system.users]
    groups = [f"groupadd {name}\n" + "\n".join(f"usermod -aG {name} {each}" for each in members) for name, members in system.groups.items()]
    folders = [f"mkdir -p {quote(each)}" for each in system.directories]
    owners = [f"chown -h {owner_of(healthy, each)} {quote(each)}" for each in system.owners]
    modes = [f"chmod {mode_of(healthy, each)} {quote(each)}" for each in system.modes]
    return ["set -e", "umask 022", *users, *groups, *folders, system.set_up, *owners, *modes]


async def restart(container: Container, healthy: Healthy) -> None:
    """With a copy of our own: the one in the container may have been edited. A service that does not come up is the check's to say."""
    path = f"{JUDGE}{secrets.token_hex(8)}"
    await put(container, path, healthy.files[SERVICES], 0o700)
    await run(container, f"bash {path} restart; rm {path}")


async def check_health(container: Container, healthy: Healthy, exam: str = "") -> dict[str, str]:
    """Probe → what is wrong, empty where nothing is. Probes are the health check's, or the tests of the file named."""
    if exam:
        return await sit(container, healthy.exams[exam])
    folder, marker = f"{JUDGE}{secrets.token_hex(8)}", secrets.token_hex(16)
    services = {name: each.model_dump() for name, each in healthy.system.services.items()}
    given = json.dumps({"marker": marker, "values": healthy.values, "services": services})
    for name, text in (("probing.py", (PROGRAMS / "probing.py").read_text()), ("check.py", healthy.check)):
        await put(container, f"{folder}/{name}", text.encode())
    # Compiled files that somebody left in the library are passed over: the prefix says where else they would be.
    start = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); runpy.run_path(sys.path[0] + '/check.py', run_name='__main__')"
    ran = await run(
        container,
        f"cd /; /usr/bin/python3 -I -B -X pycache_prefix={folder} -c {quote(start)} {folder} {quote(given)}; rm -rf {folder}",
        120,
    )
    found = re.findall(rf"^{marker}(.*)$", ran.text, re.MULTILINE)
    if len(found) != 1:
        raise SandboxError(
            f"The health check of {healthy.system.name} gave no report: {ran.text[-500:]}. Mend its check.py or the machine."
        )
    return json.loads(found[0])


async def sit(container: Container, source: str) -> dict[str, str]:
    """Test → what is wrong. A file of which pytest gives no verdict, test by test, is no report: an error, neither pass nor fail."""
    folder, marker = f"{JUDGE}{secrets.token_hex(8)}", secrets.token_hex(16)
    texts = {"examining.py": (PROGRAMS / "examining.py").read_text(), "test_exam.py": source, "marker": marker}
    for name, text in texts.items():
        await put(container, f"{folder}/{name}", text.encode(), 0o600)
    words = f"/usr/bin/python3 -I -B -X pycache_prefix={folder} {folder}/examining.py {folder}"
    ran = await run(container, f"cd /; {words}; rm -rf {folder}", 120)
    found = re.findall(rf"^{marker}(.*)$", ran.text, re.MULTILINE)
    if len(found) != 1:
        raise SandboxError(f"The tests gave no report: {ran.text[-1500:]}. Mend the test file or the machine.")
    return json.loads(found[0])


async def list_frame(container: Container, healthy: Healthy) -> dict[str, str]:
    """Every file outside of what running changes → what it is."""
    path, marker = f"{JUDGE}{secrets.token_hex(8)}", secrets.token_hex(16)
    await put(container, path, (PROGRAMS / "frame.py").read_bytes())
    hashed = " ".join(quote(each) for each in list_own(healthy))
    ran = await run(container, f"cd /; /usr/bin/python3 -I -S -B {path} {marker} {hashed}; rm {path}", 120)
    parts = ran.text.split(f"{marker}\n")
    if len(parts) != 3:
        raise SandboxError(f"The list of files of {healthy.system.name} is not whole: {ran.text[-500:]}. The machine is broken.")
    rows = (line.split("\t", 1) for line in parts[1].splitlines())
    volatile = (*healthy.system.volatile, *VOLATILE)
    below = tuple(f"{each}/" for each in volatile)
    return {name: told for name, told in rows if name not in volatile and not name.startswith(below)}


def list_own(healthy: Healthy) -> list[str]:
    """Folders and files that belong to the system: all that its data names."""
    system = healthy.system
    return sorted({*healthy.files, *system.directories, *system.owners, *system.modes, str(Path(system.page).parent)})


VOLATILE = ("/var/log/services.log", "/var/tmp", "/root", "/home", "/var/cache/ldconfig")
"""What changes on any machine at work."""


async def must_run(container: Container, script: str, purpose: str) -> None:
    ran = await run(container, script)
    if ran.code:
        raise SandboxError(f"Could not {purpose}: exit code {ran.code}, {ran.text[-500:]}")


def pack(healthy: Healthy) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in healthy.files.items():
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.mtime = DATED
            entry.size, entry.mode = len(content), int("755" if name == SERVICES else mode_of(healthy, name), 8)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


async def run(container: Container, script: str, seconds: float = SECONDS) -> Ran:
    """A script in a shell of its own, which knows nothing of the agent's."""
    return await container.run(["/bin/bash", "-c", script], seconds=seconds, environment=ENVIRONMENT, cap=16 << 20)


async def put(container: Container, path: str, content: bytes, mode: int = 0o644) -> None:
    moved = await container.put(path, content, mode=mode)
    if moved.code in ("ENOSPC", "EDQUOT"):
        raise NoRoomError(path)
    if moved.content is None:
        raise SandboxError(f"{path} could not be put into the container: {moved.reason}.")
