"""The lock of a file: held by one open file, freed by the kernel when its process dies."""

import fcntl


def try_lock(handle: int) -> bool:
    """Take the lock if nobody holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
