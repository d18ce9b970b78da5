"""The C library, for the three system calls Python does not offer. Loaded once: each forked session needs it in a hurry."""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """prctl(2), or OSError."""
    if LIBC.prctl(option, value, pointer, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} refused")
