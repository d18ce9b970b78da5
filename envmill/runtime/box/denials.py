"""What a process in a box may not ask of the kernel: new namespaces, mounts, modules, keys, clocks. All else is what programs need.

A deny-list, where the jail has an allow-list: a terminal's programs are any programs. Denied calls fail with EPERM, clone3 with ENOSYS (so
that libc falls back to clone), a foreign architecture kills.
"""

import ctypes
import platform
import struct
from functools import cache

from envmill.runtime.jail.kernel import prctl
from envmill.runtime.jail.seccomp import point_at

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NAMESPACES = 0x7E020080
"""CLONE_NEW* of user, pid, net, ipc, uts, cgroup, mount and time."""
_SET_SECCOMP, _FILTER_MODE = 22, 2

# name: (x86_64, aarch64); a number of -1 means the architecture has no such call
DENIED: dict[str, tuple[int, int]] = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "open_by_handle_at": (304, 265), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "syslog": (103, 116), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "pidfd_getfd": (438, 438), "process_vm_writev": (311, 271), "lookup_dcookie": (212, 18),
    "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1), "uselib": (134, -1), "vhangup": (153, 58),
}  # fmt: skip
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SOCKET, _FAMILIES = (41, 198), (1, 2, 10, 16)
"""Sockets of UNIX, IPv4, IPv6 and netlink. AF_VSOCK leads out of the network namespace, AF_ALG deep into the kernel."""
_UNKNOWN = 463
"""Calls from this number on are newer than this list: programs are told that they do not exist."""


def deny() -> None:
    """Put this process and all that it will start under the filter."""
    prctl(_SET_SECCOMP, _FILTER_MODE, prepare())


@cache
def prepare() -> object:
    """The filter for this machine; KeyError where there is no table for its architecture."""
    return point_at(emit(platform.machine()))


def emit(machine: str) -> bytes:
    """The filter's bytes for an architecture."""
    column = list(_AUDIT).index(machine)
    code = [_op(_LOAD, 4), _jump(_EQUAL, _AUDIT[machine], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, 0)]
    if machine == "x86_64":
        code += [_jump(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    for numbers in DENIED.values():
        if numbers[column] >= 0:
            code += [_jump(_EQUAL, numbers[column], 0, 1), _op(_RETURN, _EPERM)]
    code += [_jump(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ENOSYS)]
    code += [_jump(_AT_LEAST, _UNKNOWN, 0, 1), _op(_RETURN, _ENOSYS)]
    families = [_jump(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)]
    code += [_jump(_EQUAL, _SOCKET[column], 0, len(families) + 3), _op(_LOAD, 16), *families, _op(_RETURN, _EPERM), _op(_RETURN, _ALLOW)]
    # clone's flags are its first argument, at the same place on both.
    code += [_jump(_EQUAL, _CLONE[column], 0, 3), _op(_LOAD, 16), _jump(_ANY_BIT, _NAMESPACES, 0, 1), _op(_RETURN, _EPERM)]
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def supported() -> bool:
    """Whether there is a table for this machine, and a kernel that takes filters."""
    return platform.machine() in _AUDIT and ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) >= 0  # PR_GET_SECCOMP


def _op(code: int, value: int) -> bytes:
    return _jump(code, value, 0, 0)


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)
