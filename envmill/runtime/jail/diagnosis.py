"""Which system calls a session was denied: the same filter, except that a watcher beside the
session notes a call before it denies it.

    session ──denied call──► kernel ──► watcher: notes the number, answers EPERM ──► session goes on

The watcher is a copy of the session from before the program ran, which shares its descriptors and
one page of memory, nothing else. It only ever denies. It costs a process per session, so it is for
finding out, not for production.
"""

import ctypes
import mmap
import os
import platform
import signal
import struct
import time

from envmill.runtime.jail import seccomp
from envmill.runtime.jail.calls import name_calls
from envmill.runtime.jail.kernel import LIBC, must, prctl

_CLONE = {"x86_64": 56, "aarch64": 220}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SHARED_DESCRIPTORS = 0x400
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
"""ioctl numbers of a filter's listener: 80 bytes in, 24 out."""
_EPERM, _EINTR, _ENOENT = 1, 4, 2
_KNOWN = 1024
"""Numbers that are noted, one byte each; the listener's descriptor stands behind them."""
_sleep = time.sleep  # kept from before the clock becomes virtual


class _Page:
    """The memory that session and watcher share; none while nothing is diagnosed."""

    shared: mmap.mmap | None = None


def is_on() -> bool:
    """Whether this session is diagnosed."""
    return _Page.shared is not None


def prepare() -> None:
    """Start the watcher; it waits for the filter."""
    _Page.shared = mmap.mmap(-1, mmap.PAGESIZE)
    session = os.getpid()
    # Not os.fork: the filter's listener must turn up in the watcher's descriptors, too.
    if (
        must(
            "clone",
            LIBC.syscall(
                _CLONE[platform.machine()],
                _SHARED_DESCRIPTORS | signal.SIGCHLD,
                None,
                None,
                None,
                None,
            ),
        )
        == 0
    ):
        try:
            prctl(1, signal.SIGKILL)
            if os.getppid() in (session, 0):
                _watch(_Page.shared)
        finally:
            os._exit(0)


def install() -> None:
    """Put this session under its filter, and tell the watcher where to listen."""
    assert _Page.shared
    machine = platform.machine()
    pointer = seccomp.point_at(seccomp.emit(seccomp.SESSION, machine, seccomp.NOTIFY))
    listener = must("seccomp", LIBC.syscall(_SECCOMP[machine], _SET_FILTER, _NEW_LISTENER, pointer))
    _Page.shared[_KNOWN : _KNOWN + 4] = struct.pack("@i", listener)


def drain() -> list[str]:
    """Names of the calls denied since this was last asked."""
    if _Page.shared is None:
        return []
    marks = _Page.shared[:_KNOWN]
    if not any(marks):
        return []
    _Page.shared[:_KNOWN] = bytes(_KNOWN)
    names = name_calls(platform.machine())
    return [names.get(number, f"call {number}") for number, mark in enumerate(marks) if mark]


def _watch(shared: mmap.mmap) -> None:
    while not (listener := struct.unpack("@i", shared[_KNOWN : _KNOWN + 4])[0]):
        _sleep(0.001)
    answer = ctypes.create_string_buffer(24)
    while True:
        request = ctypes.create_string_buffer(80)
        if LIBC.ioctl(listener, ctypes.c_ulong(_RECEIVE), request) != 0:
            if ctypes.get_errno() in (_EINTR, _ENOENT):
                continue
            return
        identity, _, _, number = struct.unpack_from("@QIIi", request)
        shared[min(max(number, 0), _KNOWN - 1)] = 1
        # Never "continue": what was asked for could be changed in memory after it was looked at.
        answer[:24] = struct.pack("@QqiI", identity, 0, -_EPERM, 0)
        LIBC.ioctl(listener, ctypes.c_ulong(_ANSWER), answer)
