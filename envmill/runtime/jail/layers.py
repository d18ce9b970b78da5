"""The layers around generated code, as a table: who puts each on, whether the kernel alone upholds
it, and what to do where it lacks.

driver: enclose ──► zygote: withdraw ──► template: enter ──► session: tighten ──► program
"""

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Collection
from dataclasses import dataclass

from envmill.runtime.jail import cgroups, diagnosis, landlock, namespaces, seccomp
from envmill.runtime.jail.kernel import prctl

MEMORY = 768 * 1024 * 1024
"""Address space of a session, the interpreter's own share included: the largest state, as objects,
as bytes and on its way out."""
CPU_SECONDS = 300
"""Backstop behind the driver's deadlines, over a session's whole life."""
DESCRIPTORS = 32
DIAGNOSIS = "diagnosis"
"""Not a layer but a manner of one: seccomp denies the same calls, and says which."""
_FIRST_UID = 0x7000_0000
"""Above the ranges that systemd and container runtimes hand out; 64 for each number a process can
have end where 31 bits do."""
_NOBODY = 65534
_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38


@dataclass(frozen=True)
class JailLayer:
    """One layer: what each of four processes does for it, before it sees any generated code.
    OSError means not granted."""

    mend: str
    """What to do where the machine does not grant it."""
    enclose: Callable[[int], None] | None = None
    """The driver, to the zygote of this pid."""
    withdraw: Callable[[], None] | None = None
    """The zygote, to itself, once it has loaded its modules."""
    enter: Callable[[int], None] | None = None
    """A template, to itself; the slot makes its user id unique."""
    tighten: Callable[[], None] | None = None
    """A forked session, to itself, on top of what it inherits."""
    kernel: bool = False
    """Whether it alone keeps a program from the machine. Without any such, generated code is
    refused."""


def enclose(layers: Collection[str], zygote: int) -> None:
    """What holds for a driver's whole tree."""
    for name, layer in LAYERS.items():
        if name in layers and layer.enclose:
            layer.enclose(zygote)


def withdraw(layers: Collection[str]) -> None:
    """What is made once for all templates of a zygote."""
    for name, layer in LAYERS.items():
        if name in layers and layer.withdraw:
            layer.withdraw()


def enter(layers: Collection[str], slot: int) -> None:
    """Put on the layers a template lives under."""
    for name, layer in LAYERS.items():
        # A filter that says nothing would come before one that speaks: a diagnosed session puts on
        # its own.
        silent = name == "seccomp" and DIAGNOSIS in layers
        if name in layers and layer.enter and not silent:
            layer.enter(slot)
    if "namespaces" in layers:
        namespaces.anchor()


def tighten(layers: Collection[str]) -> None:
    """Take a forked session's means to fork away, before the program runs."""
    if DIAGNOSIS in layers:
        # Before the limits: it forks once more.
        diagnosis.prepare()
    for name, layer in LAYERS.items():
        if name in layers and layer.tighten:
            layer.tighten()


def die_with_parent(parent: int) -> None:
    """Be killed when the parent dies. A change of user forgets this, and a parent already gone
    never signals."""
    prctl(_PDEATHSIG, signal.SIGKILL)
    # A parent outside our pid namespace shows as 0.
    if os.getppid() not in (parent, 0):
        os._exit(0)


def probe() -> dict[str, bool]:
    """Which layers this machine grants, tried one after the other in a child that is thrown
    away."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for place, layer in enumerate(LAYERS.values()):
                with contextlib.suppress(OSError):
                    _try(layer)
                    os.write(writer, bytes([place]))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        granted = set(stream.read())
    os.waitpid(child, 0)
    return {name: place in granted for place, name in enumerate(LAYERS)}


def _try(layer: JailLayer) -> None:
    if layer.enclose:
        layer.enclose(os.getpid())
    if layer.withdraw:
        layer.withdraw()
    if layer.enter:
        layer.enter(0)


def drop_user(slot: int) -> None:
    """Become a user of our own. Only root can; for anyone else the layer is not granted."""
    if os.geteuid() != 0:
        raise PermissionError("only root can become another user")
    os.setgroups([])
    # 64 slots a driver, twice what it keeps: templates of one driver never meet under one id, nor
    # do two drivers' of one machine.
    wanted = _FIRST_UID + (os.getppid() * 64 + slot % 64) % 0x1000_0000
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


def limit_session() -> None:
    """No further process, and an end to the time it may compute."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def filter_session() -> None:
    """The tighter filter, loud where denials are to be named."""
    if diagnosis.is_on():
        diagnosis.install()
    else:
        seccomp.install(seccomp.SESSION)


LAYERS: dict[str, JailLayer] = {
    "cgroups": JailLayer("Let this user make control groups (memory, pids); in a container, mount them writable.", enclose=cgroups.enclose),
    "namespaces": JailLayer(
        "Let this user make namespaces: sysctl user.max_user_namespaces and "
"kernel.apparmor_restrict_unprivileged_userns; "
        "a container needs a seccomp profile that lets unshare pass.",
        withdraw=namespaces.withdraw, enter=lambda _: namespaces.seclude(), kernel=True,
    ),
    "uid": JailLayer("Run as root: then each environment gets a user of its own.", enter=drop_user),
    "rlimits": JailLayer("Raise the hard limits of this user (ulimit -H).", enter=lambda _: limit(), tighten=limit_session),
    "no_new_privs": JailLayer("Use Linux 3.5 or newer.", enter=lambda _: prctl(_NO_NEW_PRIVS, 1)),
    "landlock": JailLayer("Use Linux 5.13 or newer landlock in the kernel's lsm= list.", enter=lambda _: landlock.install(), kernel=True),
    "seccomp": JailLayer(
        "Use a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64.",
        enter=lambda _: seccomp.install(seccomp.TEMPLATE), tighten=filter_session, kernel=True,
    ),
}  # fmt: skip
"""In the order they are put on: each needs a privilege or a call that a later one takes away."""

KERNEL_LAYERS = frozenset(name for name, layer in LAYERS.items() if layer.kernel)
"""Without any of these, generated code is refused."""
