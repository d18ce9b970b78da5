"""Reader of a folder that strangers wrote: plain files inside it, bounded, as bytes, text or JSON.

The factory reads bundle folders with this file, and an exported folder carries it, so both refuse
the same with the same words.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate, islice
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

MAX_FILE = 64 * 2**20
"""Bytes of one file: a session takes states of 24 MB, and the JSON of a folder with its line
breaks is longer."""
MAX_SOURCE = 4 * 2**20
"""Bytes of a file of code."""
MAX_VALUES = MAX_FILE // 16
"""Values of one JSON file: in memory an empty list of three characters takes 64 bytes. A state of
100,000 rows has a million."""
MAX_FILES = 20_000
"""Files and folders of a whole folder."""
MAX_FOLDER = 256 * 2**20
"""Bytes of all files."""
MAX_LEVELS = 8
"""Folders inside folders."""
MAX_DEPTH = 128
"""Objects and arrays inside each other; a session takes 64."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_RUN = re.compile(rb'(?:[^"]*+"(?:[^"\\]++|\\.)*+"?){1,8192}+|[^"]++', re.DOTALL)
"""Some thousand strings and what lies between them: to take out millions at once takes a
gigabyte."""
_BRACKETS = bytes.maketrans(b"{}", b"[]")
"""`[` is 91 and `]` is 93: their distance from 92 is the step up or down."""
_REST = bytes(set(range(256)) - set(b"[]{}"))
_NO_PLAIN_FILE = (
    "it is no plain file",
    "Put the file itself there: links and devices are not followed.",
)


class FolderError(Exception):
    """The folder does not hold what was asked for, or not as it should."""

    def __init__(self, message: str, **facts: str) -> None:
        super().__init__(message)
        self.facts = facts


def render_fault(file: str, what: str, mend: str, place: str = "") -> str:
    """The one form of complaint about a folder."""
    text = f"{file}, {place}: {what}. {mend}" if place else f"{file}: {what}. {mend}"
    return "\n".join(map(escape, text.split("\n")))


def escape(text: str) -> str:
    """What cannot be printed, escaped: names and values come from the folder, and a terminal
    must not obey them."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def fault(file: str, what: str, mend: str, place: str = "") -> FolderError:
    """A complaint about a folder."""
    return FolderError(render_fault(file, what, mend, place), file=file, place=place)


class PlainFiles:
    """The files of one folder, by their path in it. Links are refused at every step of a path, also
    when they appear after the listing."""

    complain: Callable[..., Exception] = staticmethod(fault)
    """Makes the error that is raised."""

    def __init__(
        self,
        root: Path,
        largest: int = MAX_FILE,
        *,
        hidden: bool = False,
        skipped: Collection[str] = (),
    ) -> None:
        """`largest` bounds the bytes of one file; `hidden` also lists hidden files and __pycache__;
        paths in `skipped` are not listed."""
        self.root, self.hidden = root, hidden
        self._largest, self._skipped, self._entries = largest, skipped, 0
        self._held: dict[str, bytes] = {}
        try:
            handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            raise self.complain(
                str(root), "there is no such folder", "Name the folder that holds bundle.json."
            ) from None
        self._place = _find_place(handle)
        self._sizes = dict(
            sorted(self._list(handle, PurePosixPath()), key=lambda found: found[0].split("/"))
        )
        if sum(self._sizes.values()) > (bound := max(MAX_FOLDER, largest)):
            raise self.complain(
                str(root),
                f"its files have more than {bound // 2**20} MB",
                "A bundle holds one environment: split it.",
            )

    def _list(self, handle: int, at: PurePosixPath) -> Iterator[tuple[str, int]]:
        """Path and bytes of every file below an open folder, which it closes."""
        try:
            with os.scandir(handle) as entries:
                for entry in islice(entries, MAX_FILES + 1 - self._entries):
                    self._entries += 1
                    if str(at / entry.name) not in self._skipped:
                        yield from self._list_entry(handle, entry, at / entry.name)
        finally:
            os.close(handle)

    def _list_entry(
        self, handle: int, entry: os.DirEntry[str], path: PurePosixPath
    ) -> Iterator[tuple[str, int]]:
        if self._entries > MAX_FILES or len(path.parts) > MAX_LEVELS:
            raise self.complain(
                str(path.parent),
                f"more than {MAX_FILES} files or {MAX_LEVELS} levels",
                "A bundle holds one environment: split it.",
            )
        if not entry.name.isprintable():
            raise self.complain(
                ascii(str(path)), "its name has characters that cannot be printed", "Rename it."
            )
        if not self.hidden and is_passed_over(entry.name):
            return
        found = self._stat(entry, path)
        if stat.S_ISDIR(found.st_mode):
            yield from self._list(self._open(entry.name, os.O_DIRECTORY, handle, str(path)), path)
        elif stat.S_ISREG(found.st_mode):
            yield str(path), found.st_size
        else:
            raise self.complain(str(path), *_NO_PLAIN_FILE)

    def __contains__(self, path: str) -> bool:
        return path in self._sizes

    def below(self, folder: str) -> list[str]:
        """Paths of the files in a folder, the folder's own name left out."""
        return [
            path.removeprefix(f"{folder}/") for path in self._sizes if path.startswith(f"{folder}/")
        ]

    def list(self) -> list[str]:
        """Every path."""
        return list(self._sizes)

    def content(self, path: str) -> bytes:
        """A file's bytes."""
        return self._read(path, self._largest)

    def hold(self, path: str) -> bytes:
        """A file's bytes, kept: whatever reads the file later is given the same."""
        self._held[path] = self.content(path)
        return self._held[path]

    def _read(self, path: str, largest: int) -> bytes:
        if path not in self._sizes:
            mend = "Add it, or take out what names it; docs/bundle-folder.md shows the layout."
            raise self.complain(path, "the file is missing", mend)
        content = self._held.get(path)
        size, content = (
            (len(content), content) if content is not None else self._load(path, largest)
        )
        if size > largest:
            raise self.complain(
                path, f"it has {size} bytes of {largest} allowed", "Make it smaller."
            )
        return content

    def _load(self, path: str, largest: int) -> tuple[int, bytes]:
        """A file's size, and its bytes where they are not too many."""
        handle = self._reach(path)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise self.complain(path, *_NO_PLAIN_FILE)
            content = b"" if found.st_size > largest else _read_to(handle, largest + 1)
        finally:
            os.close(handle)
        return max(found.st_size, len(content)), content

    def source(self, path: str) -> str:
        """A file of code."""
        return self._decode(path, min(self._largest, MAX_SOURCE))

    def text(self, path: str) -> str:
        """A file as text."""
        return self._decode(path, self._largest)

    def _decode(self, path: str, largest: int) -> str:
        try:
            return self._read(path, largest).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.complain(
                path,
                f"it is not UTF-8 ({error.reason})",
                "Save it as UTF-8.",
                f"byte {error.start}",
            ) from None

    def json(self, path: str) -> Any:
        """A file as JSON: no NaN, no half characters, no key twice in one object, and bounded
        depth."""
        return parse_json(self.text(path), path, complain=self.complain, most=self._largest // 16)

    def resolve(self, inside: str, path: str, at: str) -> str:
        """A path that the file `at` names, relative to a folder of the bundle; it must not lead out
        of it."""
        parts = PurePosixPath(path).parts
        if (
            not path
            or "\\" in path
            or "\0" in path
            or path.startswith("/")
            or any(part == ".." for part in parts)
        ):
            raise self.complain(
                at,
                f"{path!r} leads out of {inside}",
                "Name a file inside that folder, like checks/paid.py.",
            )
        return f"{inside}/{PurePosixPath(path)}"

    def _reach(self, path: str) -> int:
        """A file, opened component by component from the root."""
        *folders, name = path.split("/")
        handle = self._open(str(self.root), os.O_DIRECTORY, None, path)
        if _find_place(handle) != self._place:
            os.close(handle)
            raise self.complain(
                str(self.root), "another folder has taken its place", "Read it again."
            )
        for folder in folders:
            above = handle
            try:
                handle = self._open(folder, os.O_DIRECTORY, above, path)
            finally:
                os.close(above)
        try:
            # O_NONBLOCK: a pipe that took the file's place would wait for a writer.
            return self._open(name, os.O_NONBLOCK, handle, path)
        finally:
            os.close(handle)

    def _open(self, name: str, flags: int, folder: int | None, path: str) -> int:
        # The root is the one name that the caller chose, so it may be a link.
        follow = 0 if folder is None else os.O_NOFOLLOW
        try:
            return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags | follow, dir_fd=folder)
        except OSError as error:
            raise self._complain_of(error, path) from None

    def _stat(self, entry: os.DirEntry[str], path: PurePosixPath) -> os.stat_result:
        try:
            return entry.stat(follow_symlinks=False)
        except OSError as error:
            raise self._complain_of(error, str(path)) from None

    def _complain_of(self, error: OSError, path: str) -> Exception:
        if isinstance(error, PermissionError):
            return self.complain(
                path, f"it cannot be read ({error.strerror})", "Allow this user to read it."
            )
        return self.complain(path, *_NO_PLAIN_FILE)


def is_passed_over(path: str) -> bool:
    """Whether a path leads through something that readers of a folder pass over."""
    return any(name.startswith(".") or name == "__pycache__" for name in path.split("/"))


def _find_place(handle: int) -> tuple[int, int]:
    """Which folder an open one is, whatever its name."""
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def _read_to(handle: int, size: int) -> bytes:
    """The first bytes of an open file."""
    content = bytearray()
    while len(content) < size and (got := os.read(handle, min(size - len(content), 1 << 20))):
        content += got
    return bytes(content)


def parse_json(
    text: str,
    file: str,
    place: str = "",
    complain: Callable[..., Exception] = fault,
    most: int = MAX_VALUES,
) -> Any:
    """Text as JSON, and no more than JSON: what Python takes besides (NaN, 1e400, half characters,
    a key twice) is refused."""

    def refuse(what: str, mend: str = "Correct it there.") -> NoReturn:
        raise complain(file, what, mend, place)

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twin = next(name for name in names if names.count(name) > 1)
            refuse(
                f"the key {twin!r} stands twice in one object, and only one can count",
                "Remove one of them.",
            )
        return found

    def parse_float(digits: str) -> float:
        number = float(digits)
        return number if isfinite(number) else refuse(f"it is no JSON ({digits[:80]} is no number)")

    def parse_int(digits: str) -> int | float:
        # Beyond 64 bits a number becomes a float, as in the libraries that read what the factory
        # writes.
        number = int(digits) if len(digits) <= 20 else 2**64
        return number if -(2**63) <= number < 2**64 else parse_float(digits)

    bare = strip_strings(text.encode("utf-8", "surrogatepass"))
    if is_deep(bare):
        refuse(f"it is nested deeper than {MAX_DEPTH} levels", "Write it flatter.")
    if sum(map(bare.count, (b",", b"[", b"{"))) > most:
        refuse(f"it has more than {most} values", "Make it smaller.")
    try:
        found = json.loads(
            text,
            object_pairs_hook=build,
            parse_constant=parse_float,
            parse_int=parse_int,
            parse_float=parse_float,
        )
    except json.JSONDecodeError as error:
        # Text with a place of its own is one line of something larger.
        at = f"{place or f'line {error.lineno}'}, column {error.colno}"
        raise complain(file, f"it is no JSON ({error.msg})", "Correct it there.", at) from None
    except RecursionError:
        refuse(f"it is nested deeper than {MAX_DEPTH} levels", "Write it flatter.")
    if "\\u" in text and not _is_whole(found):
        refuse("it is no JSON (half a character)")
    return found


def strip_strings(content: bytes) -> bytes:
    """JSON without its strings, read without decoding."""
    return b"".join(_STRING.sub(b"", run.group()) for run in _RUN.finditer(content))


def is_deep(bare: bytes) -> bool:
    """Whether brackets are nested too deeply, in JSON without its strings."""
    return (
        max(accumulate(map((92).__sub__, bare.translate(_BRACKETS, _REST))), default=0) > MAX_DEPTH
    )


def _is_whole(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
