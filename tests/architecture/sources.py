"""The source files of packages, each parsed once in a process."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


def find_sources(root: Path, packages: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """(path from the root, path) of every Python file of the packages, sorted within each."""
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            yield path.relative_to(root).as_posix(), path


def parse_file(path: Path) -> ast.Module:
    """The tree of a file. Do not change it: everyone who asks has the same one."""
    return _parse(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _parse(path: Path, changed_at: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))
