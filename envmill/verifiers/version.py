"""The version of the code that judges: a hash over its files. Rewards of different versions are not
compared.

roots ──imports, followed──► files of ours ──code without comments──► hash ──► version
"""

import ast
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path

from envmill.base.settings import ROOT

_ROOTS = ("envmill.verifiers.judge",)
_APART = ("envmill",)
"""The package's own file names everything that a user's program may use, and judges nothing."""
_BESIDE = ("envmill.verifiers.court", "envmill.verifiers.ruling")
"""These modules judge, too. Their imports are not followed, because those run programs and call
models."""
_JUDGING = ("envmill/verifiers/", "envmill/language/")
"""Schemas are left out: a verifier's content has its own hash, and a new field of another table
changes no verdict."""


@cache
def find_verifier_version() -> str:
    """Version of the running code. Docstrings and comments are not hashed: better wording changes no
    verdict."""
    files = {*follow_imports(_ROOTS), *(path for name in _BESIDE if (path := _locate(name)))}
    named = {str(path.relative_to(ROOT)): path for path in files}
    return hash_files(
        {
            name: drop_prose(path.read_bytes())
            for name, path in named.items()
            if name.startswith(_JUDGING)
        }
    )


def drop_prose(source: bytes) -> bytes:
    """A file's lines without docstrings and comments; everything else stays as it is written. A
    docstring that shares a line with code stays, too."""
    lines = source.decode().split("\n")
    docstrings = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and node.end_lineno is not None
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and lines[node.lineno - 1].startswith(" " * node.col_offset)
        and len(lines[node.end_lineno - 1].rstrip().encode()) == node.end_col_offset
        for number in range(node.lineno, node.end_lineno + 1)
    }
    comments = {
        token.start[0]: token.start[1]
        for token in tokenize.tokenize(BytesIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    kept = list[str]()
    for number, line in enumerate(lines, 1):
        code = line[: comments[number]].rstrip() if number in comments else line
        if number not in docstrings and (code or number not in comments):
            kept.append(code)
    return "\n".join(kept).encode()


def hash_files(files: dict[str, bytes]) -> str:
    """One hash over names and contents."""
    found = blake2b(digest_size=8)
    for name in sorted(files):
        found.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return found.hexdigest()


def follow_imports(roots: Sequence[str], apart: Sequence[str] = _APART) -> list[Path]:
    """Our files that these modules import, without the runtime and the modules in `apart`."""
    found: dict[str, Path] = {}
    waiting = [*roots]
    while waiting:
        module = waiting.pop()
        path = _locate(module)
        if (
            path
            and module not in found
            and module not in apart
            and not module.startswith("envmill.runtime")
        ):
            found[module] = path
            waiting += [*_list_parents(module), *_list_imports(path)]
    return sorted(found.values())


def _locate(module: str) -> Path | None:
    stem = ROOT.joinpath(*module.split("."))
    return next(
        (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None
    )


def _list_parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


def _list_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
