"""What health checks are written with: probes that say in words what is wrong, and one report. It
runs in the container.

Standard library only.
A probe returns when all is well and raises `Bad`, or an error of the operating system, when it is
not. Anything else is the check's own
fault: there is no report then, and no verdict.
"""

import grp
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

Values = dict[str, str]
T = TypeVar("T")
Test = Callable[[Values], None]

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PYTHONNOUSERSITE": "1",
}
"""What every command and service that is judged is started with: no settings of anybody's home."""
PROBES: dict[str, Test] = {}
PATIENCE = 10
LONGEST = 300
TURNS = 5


COMPANIONS = {
    "concurrent": ("concurrent.futures.process", "concurrent.futures.thread"),
    "mailbox": ("email.generator", "email.parser"),
    "email": ("email.generator", "email.header", "email.parser", "email.utils"),
    "shutil": ("bz2", "lzma", "tarfile", "zipfile"),
    "sqlite3": ("sqlite3.dump",),
    "tarfile": ("bz2", "lzma"),
    "urllib": ("http.client", "urllib.error", "urllib.request"),
    "xml": ("pyexpat", "xml.dom.expatbuilder", "xml.etree.ElementPath", "xml.sax.expatreader"),
    "zipfile": ("bz2", "lzma"),
    "zoneinfo": ("importlib.resources", "tzdata"),
}
"""Package that a check or a test names → what it imports when it is needed."""


def list_imports(source: str) -> list[str]:
    """Modules that a check or a test file names, in its functions as well, and what those import
    when they are needed."""
    import ast

    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif isinstance(node, ast.Import):
            names += [each.name for each in node.names]
    return names + [
        late
        for package in {name.partition(".")[0] for name in names}
        for late in COMPANIONS.get(package, ())
    ]


class Bad(Exception):
    """The system is not as it should be."""


def probe(test: Test) -> Test:
    """Register a probe under its function's name."""
    PROBES[test.__name__] = test
    return test


def want(holds: object, otherwise: str) -> None:
    if not holds:
        raise Bad(otherwise)


def fetch(
    port: str, path: str = "/", method: str = "GET", body: str | None = None
) -> tuple[int, str]:
    """Status and text of one answer over HTTP on loopback."""
    import http.client  # half of all that is imported here, and most checks fetch nothing

    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
    try:
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except http.client.HTTPException as error:
        raise Bad(
            f"port {port} gives no answer that makes sense: {type(error).__name__}"
        ) from error
    finally:
        connection.close()


def run(
    *command: str,
    user: str = "",
    folder: str = "/",
    stdin: str = "",
    variables: Values | None = None,
) -> tuple[int, str]:
    """Exit code and output of a command, as somebody else if need be, in a clean environment."""
    entry = pwd.getpwnam(user) if user else None
    done = subprocess.run(
        command,
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        timeout=PATIENCE,
        user=entry.pw_uid if entry else None,
        group=entry.pw_gid if entry else None,
        extra_groups=os.getgrouplist(user, entry.pw_gid) if entry else None,
        env={**ENVIRONMENT, **(variables or {})},
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def must_run(
    *command: str,
    user: str = "",
    folder: str = "/",
    stdin: str = "",
    variables: Values | None = None,
) -> str:
    """Output of a command that has to succeed."""
    code, output = run(*command, user=user, folder=folder, stdin=stdin, variables=variables)
    want(code == 0, f"`{' '.join(command)}` ends with {code}: {output.strip()[-200:]}")
    return output


def read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Bad(f"{path} is not UTF-8") from error


def want_closed(path: str, owner: str, mode: str) -> None:
    """Whoever mends with rights for everybody has not mended: nobody may write, or look into what
    is shut, who may not by these rights.
    Root's is in nobody else's hands, and less than these rights is for other probes to notice."""
    if not os.path.lexists(path):
        return
    seen, right = os.lstat(path), int(mode, 8)
    own = f"{pwd.getpwuid(seen.st_uid).pw_name}:{grp.getgrgid(seen.st_gid).gr_name}"
    theirs = all(
        name in ("root", each) for name, each in zip(own.split(":"), owner.split(":"), strict=True)
    )
    want(theirs, f"{path} belongs to {own}")
    shut = 0o022 | sum(bits for bits in (0o070, 0o007) if not right & bits)
    want(not seen.st_mode & ~right & shut, f"{path} is open to more people than it should be")


def want_loopback(port: str, sort: str = "tcp") -> None:
    """What listens there listens on 127.0.0.1 alone."""
    rows = [
        line.split()
        for name in (sort, f"{sort}6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    open_ = [
        row[1].rsplit(":", 1)[0]
        for row in rows
        if int(row[1].rsplit(":", 1)[1], 16) == int(port) and row[3] in ("0A", "07")
    ]
    want(set(open_) <= {"0100007F"}, f"port {port} is open to other addresses than 127.0.0.1")


def find_processes(pattern: str, program: str) -> list[int]:
    """Processes whose command line holds the pattern and that run that very program."""
    inode = Path(program).stat()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and pattern in _read_command(entry) and _runs(entry, inode):
            found.append(int(entry.name))
    return sorted(found)


def find_workers(masters: list[int], program: str) -> list[int]:
    """Processes that a service has started of its own program: they bear titles of their own
    (`nginx: worker process`)."""
    inode, found, parents = Path(program).stat(), list(masters), _list_parents()
    for each in found:
        found += [
            pid
            for pid, parent in parents.items()
            if parent == each and pid not in found and _runs(Path(f"/proc/{pid}"), inode)
        ]
    return sorted(found)


def _list_parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
    return parents


def find_listeners(port: str) -> list[int]:
    """Processes that hold a listening TCP socket on the port."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    sockets = {
        f"socket:[{row[9]}]"
        for row in rows
        if row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == int(port)
    }
    return sorted(
        {
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and sockets & set(_list_open(entry))
        }
    )


def check_services(services: dict[str, dict[str, str]]) -> None:
    """Each runs, as the program it should be, and owns its port alone: a stand-in that gives the
    same answers is no service."""
    for name, each in services.items():
        own = find_processes(each["pattern"], each["program"])
        want(own, f"{name} does not run")
        if each["port"]:
            holders = find_listeners(each["port"])
            want(holders, f"nothing listens on port {each['port']}")
            for _ in range(
                TURNS
            ):  # a service that has just been started, or reloaded, is still starting others
                if set(holders) <= set(own) or set(holders) <= set(
                    find_workers(own, each["program"])
                ):
                    break
                time.sleep(0.1)
                own, holders = (
                    find_processes(each["pattern"], each["program"]),
                    find_listeners(each["port"]),
                )
            want(
                set(holders) <= set(find_workers(own, each["program"])),
                f"port {each['port']} is held by something else than {name}",
            )


def _read_command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def _runs(entry: Path, inode: os.stat_result) -> bool:
    seen = _call_as_owner(entry, lambda: [(entry / "exe").stat()])
    return [(each.st_ino, each.st_dev) for each in seen] == [(inode.st_ino, inode.st_dev)]


def _list_open(entry: Path) -> list[str]:
    return _call_as_owner(
        entry, lambda: [str(each.readlink()) for each in (entry / "fd").iterdir()]
    )


def _call_as_owner(entry: Path, look: Callable[[], list[T]]) -> list[T]:
    """Nobody looks into a process of somebody else without a right that containers lack, root
    neither: so its owner looks."""
    try:
        owner = entry.stat()
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
        return look()
    except OSError:
        return []
    finally:
        os.seteuid(0)
        os.setegid(0)


def report(names: list[str] | None = None) -> None:
    """Ask every probe, or those the caller names, and print probe → what is wrong, empty where
    nothing is, after the caller's marker."""
    given = json.loads(sys.argv[1])
    services: dict[str, dict[str, str]] = given["services"]
    tests: dict[str, Test] = {"services": lambda _: check_services(services)} if services else {}
    if given.get("held"):
        fetches, unpacks = hasattr(sys.modules.get("check"), "fetch"), "tarfile" in sys.modules
        late = [
            *(("http.client", "encodings.idna") if fetches else ()),
            *(("gzip",) if unpacks else ()),
        ]
        shut([*given["imports"], *late, *(("encodings.idna",) if "socket" in sys.modules else ())])
        go_on()
    tests |= {name: test for name, test in PROBES.items() if names is None or name in names}
    said = {
        name: _ask(test, given["values"])
        for name, test in tests.items()
        if name in (given.get("asked") or tests)
    }
    sys.stdout.write(f"\n{given['marker']}{json.dumps(said)}\n")


def shut(late: Iterable[str]) -> None:
    """Import what would be imported later, and from here on nothing but what the archive holds:
    whoever can write to the disk could put
    a module there for a moment, and be run by whoever judges."""
    for name in late:
        with suppress(ImportError):
            __import__(name)
    sys.path_hooks[:] = [each for each in sys.path_hooks if each.__module__ == "zipimport"]
    sys.path[:] = [path for path in sys.path if path.startswith("/proc/self/fd/")]
    sys.path_importer_cache.clear()


def go_on() -> None:
    """All other processes were stopped until here, so that none could replace what is imported."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGCONT)


def _ask(test: Test, values: Values) -> str:
    try:
        test(values)
    except Bad as bad:
        return str(bad)[:LONGEST]
    except KeyError as error:
        return f"there is no {error}"
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s"
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:LONGEST]
    return ""
