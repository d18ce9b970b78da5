"""Namespaces: a session sees no other process, no network and an empty root. Containers mostly
refuse them.

    zygote ──withdraw──► template ──seclude──► anchor (the process whose death ends all in the pid namespace)
                                        └───► sessions

What is costly to make, network and root, is made once, by the zygote. The template itself stays
outside the new pid namespace, so the ids it hands to the driver mean what the driver takes them
for.
"""

import ctypes
import os
import struct
from pathlib import Path

from envmill.runtime.jail.kernel import LIBC, fork, must, prctl

_USER, _PID, _NET, _MOUNT, _IPC, _UTS = (
    0x10000000,
    0x20000000,
    0x40000000,
    0x00020000,
    0x08000000,
    0x04000000,
)
_OUTER = _NET | _MOUNT | _IPC | _UTS

_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPABILITIES = 0x20080522
"""Version 3 of the structure capset(2) takes: 64 bits in two halves."""
_COVERED = ("/tmp", "/usr", "/dev")
"""Folders of which one exists everywhere: the empty root is mounted over it, in our own namespace
alone."""


class _Made:
    """What a zygote or a template made, for those below it to know."""

    user = False
    life: tuple[int, int] = (-1, -1)
    """A pipe that nobody writes to: its writing end lives as long as the template."""


def withdraw() -> None:
    """Leave network, files, messages and names behind. Who is not root needs a user namespace for
    it. OSError when refused."""
    user, group = os.geteuid(), os.getegid()
    if user != 0 or LIBC.unshare(_OUTER) != 0:
        must("unshare", LIBC.unshare(_OUTER | _USER))
        _Made.user = True
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text)
    _empty_root()


def seclude() -> None:
    """Let what is forked from here on live in a pid namespace of its own, and hold no capability
    for it any more."""
    must("unshare", LIBC.unshare(_PID))
    _Made.life = os.pipe()
    if _Made.user:
        # Root loses its own by the change of user. Nothing is ever exec'ed, so what the bounding
        # set still holds cannot be had.
        must("capset", LIBC.capset(struct.pack("@Ii", _CAPABILITIES, 0), bytes(24)))


def anchor() -> None:
    """Fork the first process of the pid namespace: when it dies, and it dies with the template, so
    does every session.

    It waits under the template's layers, holds nothing but one end of a pipe, and runs nobody's
    code.
    """
    reader, _ = _Made.life
    if fork():
        os.close(reader)
        return
    try:
        prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
        # A template that died before this is not seen by its number, which is 0 from in here, dead
        # or alive: its end of the pipe tells.
        os.closerange(0, reader)
        os.closerange(reader + 1, 65536)
        os.read(reader, 1)
    finally:
        os._exit(0)


def _empty_root() -> None:
    place = next(folder for folder in _COVERED if Path(folder).is_dir()).encode()
    must("mount", LIBC.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None))
    flags = ctypes.c_ulong(_READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC)
    must("mount", LIBC.mount(b"none", place, b"tmpfs", flags, b"size=4k,nr_inodes=2,mode=555"))
    os.chdir(place)
    # The old root ends up on top of the new one, at the same place, and is taken off.
    must("pivot_root", LIBC.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    must("umount", LIBC.umount2(b".", _DETACH))
    os.chdir("/")
