"""Folders as inputs: a JSON object path → bytes as Latin-1, of which files are changed, renamed,
removed, or exchanged for links."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from tests.fuzz.mutating import Mutator

Files: TypeAlias = dict[str, bytes]
LINK = "\x00link:"
"""What stands at the beginning of a file that is a link."""
SECRET = "SECRET-TOKEN-4711"
"""What a file beside the folder holds."""
NAMES = (
    "bundle.json",
    "a/b/c/d/e/f/g/h/i/j",
    "x" * 250,
    ".hidden",
    "__pycache__/x.pyc",
    "con",
    "states/../x",
    "a\nb",
    "\u202e.json",
    "import.json",
)
TARGETS = ("../secret", "/etc/passwd", "/dev/zero", ".", "loop", "/proc/self/environ")


def read_files(folder: Path) -> Files:
    """Every file of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def make_tree(mutator: Mutator, files: Files) -> bytes:
    """One to three changes of a folder."""
    rng, changed = mutator.rng, dict(files)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(list(changed) or ["x"])
        content = changed.get(path, b"")
        kind = rng.random()
        if kind < 0.7:
            changed[path] = _change_content(mutator, content)
        elif kind < 0.78:
            changed.pop(path, None)
        elif kind < 0.86:
            changed[path] = (LINK + rng.choice(TARGETS)).encode()
        elif kind < 0.93:
            changed[rng.choice(NAMES)] = content
        else:
            changed[rng.choice(list(changed) or ["x"])] = content
    return json.dumps(
        {path: content.decode("latin-1") for path, content in changed.items()}
    ).encode()


def write_tree(content: bytes, folder: Path) -> None:
    """Write it; names that no file can have are left out."""
    (folder.parent / "secret").write_text(SECRET)
    for path, text in json.loads(content).items():
        place = folder / path
        with suppress(OSError, ValueError):
            place.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith(LINK):
                place.symlink_to(text.removeprefix(LINK))
            else:
                place.write_bytes(text.encode("latin-1"))


def _change_content(mutator: Mutator, content: bytes) -> bytes:
    """JSON and lines of JSON are changed as values, all else as bytes."""
    if mutator.rng.random() < 0.15:
        return mutator.damage(content)
    try:
        return mutator.render(mutator.change(json.loads(content)))
    except (ValueError, RecursionError):
        pass
    lines = content.splitlines()
    try:
        place = mutator.rng.randrange(len(lines))
        lines[place] = mutator.render(mutator.change(json.loads(lines[place]))).replace(b"\n", b" ")
    except (ValueError, RecursionError):
        return mutator.damage(content)
    return b"\n".join(lines) + b"\n"
