"""Every file of the container in one line each: what may not have changed is found by comparing two
such lists.

It imports only what is frozen into the interpreter or built into it, so that whoever has proved the
interpreter's own few files has proved this list. Content is hashed under the given folders;
elsewhere the change time tells, which no command can set.
"""

import _blake2
import os
import stat
import sys

# ruff: noqa: PTH115, PTH123
# `pathlib` would, too.

LARGEST = 12 << 20
"""Letters of a list: what a program's output is cut at is more."""
DEEPEST = 200
"""Folders within folders: the engine looks no deeper, and copies none that are."""
WHOLE = 64 << 20
"""Bytes of a file that is read; of a larger one the change time tells."""
MORE = "more\tthan can be told"
SKIPPED = {"/proc", "/dev", "/run", "/tmp"}
KERNEL = "/sys"
"""Passed over where the kernel's files are mounted there; elsewhere it is a folder like any
other."""


def list_files(top: str, hashed: list[str]) -> list[str]:
    lines = list_mounts()
    waiting, size = [top], 0
    while waiting:
        folder = waiting.pop()
        if folder.count("/") > DEEPEST:
            return sorted([*lines, MORE])
        for entry in os.scandir(folder):
            if entry.path in SKIPPED or (entry.path == KERNEL and os.path.ismount(KERNEL)):
                continue
            seen = entry.stat(follow_symlinks=False)
            lines.append(_write(entry.path, seen, hashed))
            size += len(lines[-1]) + 1
            if (
                size > LARGEST
            ):  # whoever filled the machine with names has changed it, and that is all there is to know
                return sorted([*lines, MORE])
            if stat.S_ISDIR(seen.st_mode):
                waiting.append(entry.path)
    return sorted(lines)


def list_mounts() -> list[str]:
    """What is mounted where: a file can be covered without being touched."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        return [f"mount {' '.join(line.split()[1::-1])}\t{line.split()[2]}" for line in file]


def _write(path: str, seen: os.stat_result, hashed: list[str]) -> str:
    return (
        f"{render(path)}\t{seen.st_mode:o} {seen.st_uid}:{seen.st_gid} "
        f"{_describe_file(path, seen, hashed)}"
    )


def _describe_file(path: str, seen: os.stat_result, hashed: list[str]) -> str:
    if stat.S_ISLNK(seen.st_mode):
        return render(os.readlink(path))
    if not stat.S_ISREG(seen.st_mode):
        return ""
    if seen.st_size <= WHOLE and any(
        path == each or path.startswith(f"{each}/") for each in hashed
    ):
        with open(path, "rb") as file:
            return _blake2.blake2b(file.read(), digest_size=16).hexdigest()
    return f"{seen.st_size} {seen.st_ctime_ns}"


def render(path: str) -> str:
    """A name may hold anything, a line feed included."""
    return (
        path.encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
        .replace("\n", "\\n")
        .replace("\t", "\\t")
    )


if __name__ == "__main__":
    lines = list_files("/", sys.argv[2:])
    sys.stdout.write(f"{sys.argv[1]}\n" + "\n".join(lines) + f"\n{sys.argv[1]}\n")
