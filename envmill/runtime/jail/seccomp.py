"""System-call filters: an allow-list as classic BPF, written here because no packaged library comes
everywhere.

Denied calls fail with EPERM, clone3 with ENOSYS (so that libc falls back to clone), a foreign
architecture kills.
"""

import ctypes
import platform
import struct
from functools import cache

from envmill.runtime.jail.kernel import prctl

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
DENY = _ERRNO | _EPERM
NOTIFY = 0x7FC00000
"""Ask whoever listens to the filter, instead of denying at once."""
_NUMBER, _ARCHITECTURE = 0, 4
_PROT_EXEC = 4
_SET_SECCOMP, _FILTER_MODE = 22, 2
_FORK_FLAGS = 0x01200011
"""CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD: what fork() passes, and no thread or
namespace does."""
_X32 = 0x40000000

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); a number of -1 means the architecture has no such call
_NUMBERS: dict[str, tuple[int, int]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "poll": (7, -1), "ppoll": (271, 73),
    "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "mremap": (25, 216), "madvise": (28, 233), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "getitimer": (36, 102), "setitimer": (38, 103), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, -1),
    "sched_yield": (24, 124), "futex": (202, 98), "restart_syscall": (219, 128), "set_robust_list": (273, 99),
    "set_tid_address": (218, 96), "rseq": (334, 293), "getcpu": (309, 168),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrusage": (98, 165), "sysinfo": (99, 179), "uname": (63, 160),
    "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
    "recvmsg": (47, 212), "recvfrom": (45, 207), "clone": (56, 220), "clone3": (435, 435), "wait4": (61, 260),
    "prctl": (157, 167), "seccomp": (317, 277), "prlimit64": (302, 261), "setrlimit": (160, 164), "getrlimit": (97, 163),
    "close_range": (436, 436), "fcntl": (72, 25),
}  # fmt: skip

SESSION: tuple[str, ...] = (
    "read", "write", "futex", "mmap", "munmap", "mprotect", "brk", "mremap", "madvise", "setitimer", "getitimer",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "clock_gettime", "clock_getres", "clock_nanosleep",
    "nanosleep", "gettimeofday", "time", "poll", "ppoll", "close", "fstat", "lseek", "sched_yield", "membarrier",
    "restart_syscall", "set_robust_list", "set_tid_address", "rseq", "getcpu", "getuid",
    "geteuid", "getgid", "getegid", "getrusage", "uname", "exit", "exit_group",
)  # fmt: skip
"""What a running program may ask of the kernel: memory, time, its own signals, and bytes on
descriptors it holds. Not its number, the machine's load or true randomness, by which two sessions
of one seed could differ."""

_QUIET: dict[str, int] = {"getpid": 0, "getppid": 0, "gettid": 0, "getrandom": _ENOSYS}
"""Calls that libraries make in passing: they are told a number that is always the same, or take
another way, and no denial is noted."""

TEMPLATE: tuple[str, ...] = (
    *SESSION, "getpid", "getppid", "gettid", "sysinfo", "getrandom", "clone", "wait4", "recvmsg", "recvfrom", "prctl", "seccomp",
    "prlimit64", "setrlimit", "getrlimit", "close_range", "fcntl",
)  # fmt: skip
"""What a template needs on top, to fork sessions and lock them up further. No program runs under
this one."""


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def supported() -> bool:
    """Whether there is a table for this machine's architecture."""
    return platform.machine() in _AUDIT


@cache
def emit(names: tuple[str, ...], machine: str, otherwise: int = DENY) -> bytes:
    """The filter's bytes for an architecture, and what it does about calls that are not in the
    list."""
    column = list(_AUDIT).index(machine)
    code = [
        _op(_LOAD, _ARCHITECTURE),
        _jump(_EQUAL, _AUDIT[machine], 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        code += [_jump(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    for name in names:
        number = _NUMBERS[name][column]
        if number >= 0:
            code += _rule(name, number, otherwise)
    for name, error in _QUIET.items():
        if name not in names:
            code += [_jump(_EQUAL, _NUMBERS[name][column], 0, 1), _op(_RETURN, _ERRNO | error)]
    code += [
        _jump(_EQUAL, _NUMBERS["clone3"][column], 0, 1),
        _op(_RETURN, _ERRNO | _ENOSYS),
        _op(_RETURN, otherwise),
    ]
    return b"".join(code)


def install(names: tuple[str, ...]) -> None:
    """Put this process, and all it will ever fork, under a filter; it adds to filters already
    there."""
    prctl(_SET_SECCOMP, _FILTER_MODE, prepare(names))


@cache
def prepare(names: tuple[str, ...]) -> object:
    """The filter for this machine, ready to be handed over: made before a fork, it costs the child
    no pages of its own."""
    return point_at(emit(names, platform.machine()))


def point_at(code: bytes) -> object:
    """A filter as the kernel wants to be handed it."""
    return ctypes.byref(_Program(len(code) // 8, code))


def _op(code: int, value: int) -> bytes:
    return _jump(code, value, 0, 0)


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)


def _rule(name: str, number: int, otherwise: int) -> list[bytes]:
    if name in ("mmap", "mprotect"):
        check, stop = (
            [_op(_LOAD, _argument(2)), _jump(_ANY_BIT, _PROT_EXEC, 0, 1)],
            _op(_RETURN, otherwise),
        )
    elif name == "clone":
        check, stop = (
            [_op(_LOAD, _argument(0)), _jump(_EQUAL, _FORK_FLAGS, 1, 0)],
            _op(_RETURN, otherwise),
        )
    else:
        return [_jump(_EQUAL, number, 0, 1), _op(_RETURN, _ALLOW)]
    return [_jump(_EQUAL, number, 0, 4), *check, stop, _op(_RETURN, _ALLOW)]


def _argument(index: int) -> int:
    # The low half of a 64-bit argument; both architectures are little-endian.
    return 16 + 8 * index
