"""The C library, for the system calls Python does not offer. Loaded once: each forked session needs it in a hurry."""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """prctl(2), or OSError."""
    must(f"prctl {option}", LIBC.prctl(option, value, pointer, 0, 0))


def must(what: str, result: int) -> int:
    """The result of a call, or OSError when it is -1."""
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what} refused")
    return result
