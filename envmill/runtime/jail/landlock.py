"""Landlock without any rule: no file, no TCP, no abstract socket, no signal outside. Asked of the
kernel, never of /sys."""

import ctypes
import os
import struct

from envmill.runtime.jail.kernel import LIBC

_CREATE, _RESTRICT = 444, 446
_VERSION_FLAG = 1

_FILES = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
"""Every file right the kernel can mediate, by ABI."""
_NETWORK = 0x3
"""Bind and connect TCP, from ABI 4."""
_SCOPES = 0x3
"""Abstract Unix sockets and signals, from ABI 6."""


def version() -> int:
    """The kernel's Landlock ABI; 0 when there is none."""
    return max(0, LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)))


def install() -> None:
    """Deny this process, and all it will ever fork, everything Landlock can deny here. Needs
    no_new_privs."""
    abi = version()
    if not abi:
        raise OSError("the kernel has no Landlock")
    handled = _attributes(abi)
    ruleset = LIBC.syscall(_CREATE, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock ruleset refused")
    refused = LIBC.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0))
    number = ctypes.get_errno()
    os.close(ruleset)
    if refused:
        raise OSError(number, "Landlock restriction refused")


def _attributes(abi: int) -> bytes:
    files = struct.pack("<Q", _FILES[min(abi, 5)])
    network = struct.pack("<Q", _NETWORK) if abi >= 4 else b""
    scopes = struct.pack("<Q", _SCOPES) if abi >= 6 else b""
    return files + network + scopes
