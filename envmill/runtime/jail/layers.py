"""The always-on layers around generated code, put on by the process that will run it, before it sees any of it."""

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Collection

from envmill.runtime.jail import landlock, seccomp
from envmill.runtime.jail.kernel import prctl

LAYERS: tuple[str, ...] = ("uid", "rlimits", "no_new_privs", "landlock", "seccomp")
"""In the order they are put on: each needs a privilege or a call that a later one takes away."""

KERNEL_LAYERS = frozenset(("landlock", "seccomp"))
"""Without any of these, generated code is refused."""

MEMORY = 512 * 1024 * 1024
"""Address space of a session, the interpreter's own share included."""
CPU_SECONDS = 300
"""Backstop behind the driver's deadlines, over a session's whole life."""
DESCRIPTORS = 32
_FIRST_UID = 1_900_000_000
"""Above the ranges that systemd and container runtimes hand out."""
_NOBODY = 65534
_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38


def enter(layers: Collection[str], slot: int) -> None:
    """Put on the layers a template lives under; `slot` makes its user id unique. OSError when one is refused."""
    steps: dict[str, Callable[[], None]] = {
        "uid": lambda: drop_user(slot),
        "rlimits": limit,
        "no_new_privs": lambda: prctl(_NO_NEW_PRIVS, 1),
        "landlock": landlock.install,
        "seccomp": lambda: seccomp.install(seccomp.TEMPLATE),
    }
    for name in LAYERS:
        if name in layers:
            steps[name]()


def tighten(layers: Collection[str]) -> None:
    """Take a forked session's means to fork away, before the program runs."""
    if "rlimits" in layers:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if "seccomp" in layers:
        seccomp.install(seccomp.SESSION)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent dies. A change of user forgets this, and a parent already gone never signals."""
    prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def probe() -> dict[str, bool]:
    """Which layers this machine grants, tried one by one in a child that is thrown away."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for place, name in enumerate(LAYERS):
            with contextlib.suppress(OSError):
                enter((name,), 0)
                os.write(writer, bytes([place]))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        granted = set(stream.read())
    os.waitpid(child, 0)
    return {name: place in granted for place, name in enumerate(LAYERS)}


def drop_user(slot: int) -> None:
    """Become a user of our own. Only root can; for anyone else the layer is not granted."""
    if os.geteuid() != 0:
        raise PermissionError("only root can become another user")
    os.setgroups([])
    # 32 slots a driver: templates of one driver never meet under one id, nor do two drivers' of one machine.
    wanted = _FIRST_UID + (os.getppid() * 32 + slot % 32) % 200_000_000
    try:
        _become(wanted)
    except OSError:
        # Inside a user namespace only a few ids exist.
        _become(_NOBODY)


def _become(user: int) -> None:
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def limit() -> None:
    """Limits that hold for the template too."""
    for what, value in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))
    prctl(_DUMPABLE, 0)
