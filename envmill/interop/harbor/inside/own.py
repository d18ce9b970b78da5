"""Files below some folders in one line each, with mode, owner and content: written when an image is
built, compared when it is judged.

own.py ROUND.json  >  record       (ROUND.json: folders that are listed, and paths among them that change by themselves)

Standard library only; it runs in the container.
"""

import hashlib
import json
import os
import stat
import sys
from pathlib import Path

# ruff: noqa: PTH115, PTH118, PTH123, PTH208, T201
# Paths are bytes here in all but name: a name may hold anything.


def list_own(folders: list[str], volatile: list[str]) -> dict[str, str]:
    """Path → what it is."""
    found: dict[str, str] = {}
    waiting = [folder for folder in folders if os.path.lexists(folder)]
    while waiting:
        path = waiting.pop()
        if path in found or is_below(path, volatile):
            continue
        found[path] = describe(path)
        if stat.S_ISDIR(os.lstat(path).st_mode):
            waiting += [os.path.join(path, name) for name in os.listdir(path)]
    return found


def describe(path: str) -> str:
    seen = os.lstat(path)
    owned = f"{seen.st_mode:o} {seen.st_uid}:{seen.st_gid}"
    if stat.S_ISLNK(seen.st_mode):
        return f"{owned} {os.fsencode(os.readlink(path))!r}"
    return f"{owned} {hash_file(path)}" if stat.S_ISREG(seen.st_mode) else owned


def hash_file(path: str) -> str:
    """Empty where there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.blake2b(file.read(), digest_size=16).hexdigest()
    except OSError:
        return ""


def is_below(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({"own": list_own(given["own"], given["volatile"])}))
