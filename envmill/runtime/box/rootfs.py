"""The inside of a box, as its first process arranges it: namespaces of its own, an overlay as its
root, few devices, fewer rights.

nursery ──clone──► first process ──waits for its users' map──► proc, dev, loopback, pivot_root ──► keeper
                                                  each program it starts: groups, rights, filter,
                                                  then exec
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from envmill.runtime.box import denials
from envmill.runtime.box.init import BADGE, BoxInit, hide
from envmill.runtime.jail.kernel import LIBC, must, prctl

SHIFT = 0x20000000
"""Root of a box is this user outside, who owns nothing there."""
USERS = 65536
_NEW = 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000 | 0x08000000 | 0x04000000
"""CLONE_NEWUSER, PID, NET, NS, IPC, UTS."""
_CLONE = {"x86_64": 56, "aarch64": 220}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_NO_SUID, _NO_DEVICES, _NO_EXEC = 2, 4, 8
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_KEPT = (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31)
"""Capabilities a container's root has usually, within its own namespaces, without raw sockets and
making of devices."""
_CAPABILITIES = 0x20080522
_HOLDING = ctypes.PyDLL(None, use_errno=True)
_OPEN_FILES = 4096


def give_birth() -> int:
    """Fork into namespaces of its own; 0 in the child, who has no rights there before its users are
    mapped."""
    return must(
        "clone", _HOLDING.syscall(_CLONE[os.uname().machine], _NEW | signal.SIGCHLD, 0, 0, 0, 0)
    )


def map_users(pid: int, inside: int, count: int) -> None:
    """Say who the users of a child's namespace are out here."""
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(f"0 {inside} {count}")


def inhabit(wire: int, doors: Sequence[int], user: str, wide: bool, processes: int) -> None:
    """Arrange the box, whose root is the folder `root` here, and keep it until its driver is gone.
    Does not return."""
    if wide:
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    prctl(
        1, signal.SIGKILL
    )  # PR_SET_PDEATHSIG: with the nursery; a change of user would take it off again
    socket.sethostname("box")
    _raise_loopback()
    _enter("root", wide)
    _forbid_namespaces()
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not doors:
        # Counted within the box's own users, and held against its root as well.
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    hide()
    denials.prepare()
    BoxInit(wire, wire, _confine(doors), user).serve()


def mount(kind: str, place: str, options: str = "", flags: int = 0, source: str = "none") -> None:
    """mount(2), or OSError."""
    result = LIBC.mount(
        source.encode(),
        place.encode(),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    must(f"mount of {kind or 'a folder'} at {place}", result)


def unmount(place: str) -> None:
    """umount2(2), at once and for good; what is not mounted stays so."""
    LIBC.umount2(place.encode(), _DETACH)


def keep_private() -> None:
    """Mounts made from here on are seen from here only."""
    must("mount", LIBC.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None))


def _enter(root: str, wide: bool) -> None:
    keep_private()
    # What was mounted before is locked; a bind of it is ours to stand on.
    mount("", root, flags=_BIND | _RECURSIVE, source=root)
    mount("proc", f"{root}/proc", flags=_NO_SUID | _NO_DEVICES | _NO_EXEC, source="proc")
    _furnish(f"{root}/dev", wide)
    mount("tmpfs", f"{root}/run", "size=16m,mode=755", _NO_SUID | _NO_DEVICES)
    os.mkdir(f"{root}/run/lock", 0o1777)  # noqa: PTH102
    os.chdir(root)
    must("pivot_root", LIBC.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    must("umount", LIBC.umount2(b".", _DETACH))
    os.chdir("/")


def _furnish(place: str, wide: bool) -> None:
    """Devices come from outside: nobody may make any in here."""
    mount("tmpfs", place, "size=64k,mode=755", _NO_SUID | _NO_EXEC)
    for name in _DEVICES:
        Path(place, name).touch()
        mount("", f"{place}/{name}", flags=_BIND, source=f"/dev/{name}")
    for name in ("pts", "shm"):
        Path(place, name).mkdir()
    group = ",gid=5" if wide else ""
    mount(
        "devpts", f"{place}/pts", f"newinstance,ptmxmode=0666,mode=620{group}", _NO_SUID | _NO_EXEC
    )
    mount("tmpfs", f"{place}/shm", "size=64m,mode=1777", _NO_SUID | _NO_DEVICES)
    links = {
        "fd": "/proc/self/fd",
        "stdin": "/proc/self/fd/0",
        "stdout": "/proc/self/fd/1",
        "stderr": "/proc/self/fd/2",
        "ptmx": "pts/ptmx",
    }
    for name, target in links.items():
        Path(place, name).symlink_to(target)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        up_and_running = 0x41
        fcntl.ioctl(asking, 0x8914, struct.pack("16sH14x", b"lo", up_and_running))  # SIOCSIFFLAGS


def _forbid_namespaces() -> None:
    """The filter forbids making them as well; where there is none, this does."""
    for name in ("user", "mnt", "pid", "net"):
        try:
            Path(f"/proc/sys/user/max_{name}_namespaces").write_text("0")
        except OSError:
            return


def _confine(doors: Sequence[int]) -> Callable[[bool], None]:
    def confine(judges: bool) -> None:
        kept = {*_KEPT, BADGE} if judges else set(_KEPT)
        bits = sum(1 << number for number in kept)
        rights = struct.pack("III", bits, bits, 0) + bytes(12)
        for door in doors:
            os.write(door, b"0")
        for number in range(41):
            if number not in kept:
                LIBC.prctl(
                    24, number, 0, 0, 0
                )  # PR_CAPBSET_DROP; numbers a kernel does not know fail
        must("capset", LIBC.capset(struct.pack("@Ii", _CAPABILITIES, 0), rights))
        prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
        if denials.supported():
            denials.deny()

    return confine
