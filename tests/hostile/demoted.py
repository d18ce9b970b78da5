"""Runs a command as nobody, also where the interpreter or the checkout lies below a folder that
only root may enter.

python -m tests.hostile.demoted FOLDER… -- COMMAND…

In a mount namespace of its own the closed folder is covered by an empty one, in which just the
folders that are needed show up again.
"""

import ctypes
import os
import sys
from pathlib import Path

from envmill.runtime.jail.kernel import LIBC, must

NOBODY = 65534
_MOUNT_NAMESPACE, _BIND, _RECURSIVE, _PRIVATE = 0x00020000, 4096, 0x4000, 0x40000


def find_closed(folder: Path) -> Path | None:
    """The highest folder above that others may not enter."""
    return next(
        (
            above
            for above in reversed((folder, *folder.parents))
            if not above.stat().st_mode & 0o001
        ),
        None,
    )


def show(folders: list[Path]) -> None:
    """Make folders reachable for everybody, in this process's view alone."""
    must("unshare", LIBC.unshare(_MOUNT_NAMESPACE))
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    for covered in dict.fromkeys(filter(None, map(find_closed, folders))):
        within = [folder for folder in folders if folder.is_relative_to(covered)]
        held = [os.open(folder, os.O_PATH) for folder in within]
        _mount("none", str(covered), "tmpfs", 0, "mode=755")
        for folder, descriptor in zip(within, held, strict=True):
            folder.mkdir(parents=True, exist_ok=True)
            _mount(f"/proc/self/fd/{descriptor}", str(folder), None, _BIND | _RECURSIVE)
            os.close(descriptor)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    words = [word.encode() if word is not None else None for word in (source, target, kind, data)]
    must(
        f"mount on {target}",
        LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]),
    )


if __name__ == "__main__":
    split = sys.argv.index("--")
    show([Path(name).resolve() for name in sys.argv[1:split]])
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.execv(sys.argv[split + 1], sys.argv[split + 1 :])
