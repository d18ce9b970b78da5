"""What a process in a box may ask of the kernel: every call that has a name in our table, except
those that are denied.

The list is long, because a terminal's programs are any programs. New namespaces, mounts, modules,
keys and clocks are denied with EPERM. A number without a name fails with ENOSYS, as on a kernel
that does not know it; so does clone3, for which libc falls back to clone. A foreign architecture
kills.
"""

import ctypes
import platform
import struct
from collections.abc import Iterator
from functools import cache

from envmill.runtime.jail.calls import name_calls
from envmill.runtime.jail.kernel import prctl
from envmill.runtime.jail.seccomp import point_at

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NAMESPACES = 0x7E020080
"""CLONE_NEW* of user, pid, net, ipc, uts, cgroup, mount and time."""
_SET_SECCOMP, _FILTER_MODE = 22, 2

DENIED = frozenset((
    "unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "statmount", "listmount", "swapon", "swapoff", "reboot", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "open_by_handle_at", "acct", "quotactl",
    "quotactl_fd", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "syslog", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "pidfd_getfd", "process_vm_writev", "lookup_dcookie", "iopl", "ioperm", "modify_ldt", "uselib", "vhangup",
    "memfd_secret", "fanotify_init", "fanotify_mark", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "create_module",
    "get_kernel_syms", "query_module", "nfsservctl", "_sysctl", "sysfs", "ustat",
))  # fmt: skip
"""Calls that fail with EPERM."""
_CLONE, _CLONE3, _SOCKETS = "clone", "clone3", ("socket", "socketpair")
_FAMILIES = (1, 2, 10, 16)
"""Sockets of UNIX, IPv4, IPv6 and netlink. AF_VSOCK leads out of the network namespace, AF_ALG deep
into the kernel."""


def deny() -> None:
    """Put this process and all that it will start under the filter."""
    prctl(_SET_SECCOMP, _FILTER_MODE, prepare())


@cache
def prepare() -> object:
    """The filter for this machine; KeyError where there is no table for its architecture."""
    return point_at(emit(platform.machine()))


def emit(machine: str) -> bytes:
    """The filter's bytes for an architecture."""
    numbers = {name: number for number, name in name_calls(machine).items()}
    allowed = sorted(
        numbers[name] for name in numbers.keys() - DENIED - {_CLONE, _CLONE3, *_SOCKETS}
    )
    code = [_op(_LOAD, 4), _jump(_EQUAL, _AUDIT[machine], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, 0)]
    if machine == "x86_64":
        code += [_jump(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    for name in sorted(DENIED & numbers.keys()):
        code += [_jump(_EQUAL, numbers[name], 0, 1), _op(_RETURN, _EPERM)]
    families = [
        _jump(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)
    ]
    for name in _SOCKETS:
        code += [
            _jump(_EQUAL, numbers[name], 0, len(families) + 3),
            _op(_LOAD, 16),
            *families,
            _op(_RETURN, _EPERM),
            _op(_RETURN, _ALLOW),
        ]
    # clone's flags are its first argument, at the same place on both.
    code += [
        _jump(_EQUAL, numbers[_CLONE], 0, 4),
        _op(_LOAD, 16),
        _jump(_ANY_BIT, _NAMESPACES, 0, 1),
        _op(_RETURN, _EPERM),
    ]
    code += [_op(_RETURN, _ALLOW)]
    for first, last in _find_ranges(allowed):
        code += [
            _jump(_AT_LEAST, last + 1, 3, 0),
            _jump(_AT_LEAST, first, 0, 1),
            _op(_RETURN, _ALLOW),
            _op(_RETURN, _ENOSYS),
        ]
    return b"".join([*code, _op(_RETURN, _ENOSYS)])


def _find_ranges(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each unbroken run."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def supported() -> bool:
    """Whether there is a table for this machine, and a kernel that takes filters."""
    return (
        platform.machine() in _AUDIT and ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) >= 0
    )  # PR_GET_SECCOMP


def _op(code: int, value: int) -> bytes:
    return _jump(code, value, 0, 0)


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)
