"""What containers leave on a machine: processes, mounts, control groups, folders. Listed before and
after."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def list_remains(images: Path, *marks: str) -> set[str]:
    """Everything that bears one of the marks or stands on the images."""
    return {
        *_list_processes(str(images), *marks),
        *_list_mounts(str(images)),
        *_list_groups(),
        *_list_folders(images),
    }


def wait_gone(before: set[str], look: Callable[[], set[str]], seconds: float = 60) -> set[str]:
    """What is there more than before, once nothing goes any more."""
    until = time.monotonic() + seconds
    while (left := look() - before) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _list_processes(*marks: str) -> set[str]:
    found: set[str] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with suppress(OSError):
                words = (
                    (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                )
                found |= (
                    {f"process {folder.name} {words}"}
                    if any(mark in words for mark in marks)
                    else set()
                )
    return found


def _list_mounts(place: str) -> set[str]:
    """In whatever namespace."""
    found: set[str] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                found |= {
                    f"mount {line}"
                    for line in (folder / "mountinfo").read_text(errors="replace").splitlines()
                    if f"{place}/.store" in line
                }
    return found


def _list_groups() -> set[str]:
    """Those whose maker is gone: other tests of this machine may be at work."""
    # Folders come and go meanwhile, which `rglob` does not bear.
    made = [
        Path(folder, name)
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith("envbox-")
    ]
    return {
        f"group {path}"
        for path in made
        if path.is_dir() and not Path("/proc", path.name.split("-")[1]).exists()
    }


def _list_folders(images: Path) -> set[str]:
    return (
        {f"folder {path}" for path in (images / ".store").glob("*")}
        if (images / ".store").exists()
        else set()
    )
