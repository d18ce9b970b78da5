"""The C library, for the system calls Python does not offer. Loaded once: each forked session needs
it in a hurry."""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)
_HOLDING = ctypes.PyDLL(None, use_errno=True)
"""The same, called without letting go of the interpreter's lock."""


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """prctl(2), or OSError."""
    must(f"prctl {option}", LIBC.prctl(option, value, pointer, 0, 0))


def fork() -> int:
    """fork(2) for a process with one thread, without what the library has Python do in every child.

    It seeds a generator that is seeded again, and makes new locks that nobody held: a quarter of
    the pages a session writes to.
    """
    return must("fork", _HOLDING.fork())


def must(what: str, result: int) -> int:
    """The result of a call, or OSError when it is -1."""
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what} refused")
    return result
