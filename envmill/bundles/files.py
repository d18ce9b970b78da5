"""Files of a folder that strangers wrote: plain, bounded, inside it, as text or JSON; else an error that names file, place and mend."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from envmill.errors import SettingsError
from schemas.base import Json

MAX_FILE = 4 * 2**20
"""Bytes of one file; the largest state that is seen in practice takes a tenth."""
MAX_FILES = 5_000
MAX_FOLDER = 64 * 2**20
"""Bytes of all files."""

M = TypeVar("M", bound=BaseModel)


def fault(file: str, what: str, mend: str, place: str = "") -> SettingsError:
    """The one form of complaint about a folder."""
    where = f"{file}, {place}" if place else file
    return SettingsError(f"{where}: {what}. {mend}", file=file, place=place)


class Files:
    """The files of one folder, by their path in it. Nothing outside is ever read: links are refused, not followed."""

    def __init__(self, root: Path, largest: int = MAX_FILE) -> None:
        self.root = root
        self._largest = largest
        if not root.is_dir():
            raise fault(str(root), "there is no such folder", "Name the folder that holds bundle.json.")
        self._sizes = dict(self._list(root, PurePosixPath()))
        if sum(self._sizes.values()) > max(MAX_FOLDER, largest):
            raise fault(
                str(root), f"its files have more than {max(MAX_FOLDER, largest) // 2**20} MB", "A bundle holds one environment: split it."
            )

    def _list(self, folder: Path, at: PurePosixPath) -> Iterator[tuple[str, int]]:
        for number, entry in enumerate(sorted(os.scandir(folder), key=lambda one: one.name)):
            path, found = at / entry.name, entry.stat(follow_symlinks=False)
            if number >= MAX_FILES or len(path.parts) > 8:
                raise fault(str(at), f"more than {MAX_FILES} files or 8 levels", "A bundle holds one environment: split it.")
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if stat.S_ISDIR(found.st_mode):
                yield from self._list(folder / entry.name, path)
            elif stat.S_ISREG(found.st_mode):
                yield str(path), found.st_size
            else:
                raise fault(str(path), "it is no plain file", "Put the file itself there: links and devices are not followed.")

    def __contains__(self, path: str) -> bool:
        return path in self._sizes

    def below(self, folder: str) -> list[str]:
        """Paths of the files in a folder, the folder's own name left out."""
        return [path.removeprefix(f"{folder}/") for path in self._sizes if path.startswith(f"{folder}/")]

    def list(self) -> list[str]:
        """Every path."""
        return list(self._sizes)

    def text(self, path: str) -> str:
        """A file as text."""
        if path not in self._sizes:
            raise fault(path, "the file is missing", "Add it, or take out what names it; docs/bundle-folder.md shows the layout.")
        if self._sizes[path] > self._largest:
            raise fault(path, f"it has {self._sizes[path]} bytes of {self._largest} allowed", "Make it smaller.")
        handle = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as opened:
            content = opened.read(self._largest)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise fault(path, f"it is not UTF-8 ({error.reason})", "Save it as UTF-8.", f"byte {error.start}") from None

    def json(self, path: str) -> Json:
        """A file as JSON: no NaN, no half characters, no key twice in one object."""
        text = self.text(path)
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise fault(path, f"it is no JSON ({error.msg})", "Correct it there.", f"line {error.lineno}, column {error.colno}") from None
        try:
            json.loads(text, object_pairs_hook=lambda pairs: _refuse_twins(path, pairs))
        except RecursionError:
            raise fault(path, "it is nested too deeply", "Write it flatter.") from None
        return found

    def read(self, path: str, record: type[M]) -> M:
        """A file as a record."""
        return self.fit(path, self.json(path), record)

    def fit(self, path: str, value: Json, record: type[M], place: str = "") -> M:
        """A value out of a file as a record."""
        try:
            return record.model_validate(value)
        except ValidationError as error:
            raise fault(path, *_explain(error, record), _spell_place(place, error)) from None


def resolve(inside: str, path: str, at: str) -> str:
    """A path that a file names, relative to a folder of the bundle; it must not lead out of it."""
    parts = PurePosixPath(path).parts
    if not path or "\\" in path or "\0" in path or path.startswith("/") or any(part == ".." for part in parts):
        raise fault(at, f"{path!r} leads out of {inside}", "Name a file inside that folder, like checks/paid.py.")
    return f"{inside}/{PurePosixPath(path)}"


def _refuse_twins(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise fault(path, f"the key {twin!r} stands twice in one object, and only one can count", "Remove one of them.")
    return found


def _explain(error: ValidationError, record: type[BaseModel]) -> tuple[str, str]:
    """What is wrong first, and how it is mended."""
    first = error.errors(include_url=False)[0]
    more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"the field {first['loc'][-1]!r} is unknown{more}", f"Known to {record.__name__}: {', '.join(record.model_fields)}."
    if first["type"] == "missing":
        return f"the field {first['loc'][-1]!r} is missing{more}", "Add it."
    return f"{first['msg']}, and it is {str(first['input'])[:80]!r}{more}", "Correct it; docs/bundle-folder.md says what stands there."


def _spell_place(place: str, error: ValidationError) -> str:
    return ".".join([*([place] if place else []), *map(str, error.errors(include_url=False)[0]["loc"])])
