"""Reads the texts of a benchmark from a folder of .jsonl, .json, .txt and .md files."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.errors import SettingsError
from schemas.base import Json, is_array, is_object

SUFFIX = ".sketch"
SUFFIXES = (".jsonl", ".json", ".txt", ".md")
_LEAST = 5
"""Words that a text has at least; fewer are a label."""


@dataclass(frozen=True)
class BenchmarkTask:
    """A task with a known solution."""

    place: str
    text: str
    """All that its user says, or is told to say."""
    calls: tuple[tuple[str, dict[str, Json]], ...]
    """Tool and arguments of each call of the solution."""
    changes: tuple[tuple[list[str], str, Json], ...] = ()
    """Path, operation and new value of each change by the solution; empty if unknown."""


@dataclass
class BenchmarkDomain:
    """A domain of a benchmark: what a copy of it would contain."""

    interface: set[str] = field(default_factory=set[str])
    """Names of tools, parameters and columns, each as words after its kind."""
    policy: list[str] = field(default_factory=list[str])
    """Paragraphs of its policy."""


@dataclass
class Benchmark:
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Place → text. A place is the file, the record, and the number of the text in it, because keys
    may be content."""
    tasks: list[BenchmarkTask] = field(default_factory=list[BenchmarkTask])
    domains: dict[str, BenchmarkDomain] = field(default_factory=dict[str, BenchmarkDomain])
    """Name of a domain → its content."""

    def add(self, place: str, text: str) -> None:
        if len(text.split()) >= _LEAST:
            self.texts[place] = text


def add_turns(found: Benchmark, place: str, turns: list[str]) -> None:
    """Adds all turns together, and each of several."""
    found.add(f"{place}.1", "\n".join(turns))
    for number, turn in enumerate(turns if len(turns) > 1 else [], start=2):
        found.add(f"{place}.{number}", turn)


def list_files(folder: Path) -> list[Path]:
    """Protected files of a folder. READMEs, licences and notices are left out."""
    found = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    return [
        path for path in found if not path.name.startswith((".", "README", "LICENSE", "NOTICE"))
    ]


def read_any(folder: Path) -> Benchmark:
    """Every text in JSON values, and paragraphs of plain files. Sketches are left out."""
    found = Benchmark()
    for path in list_files(folder):
        if path.suffix == SUFFIX:
            continue
        name, numbers = path.relative_to(folder).with_suffix("").as_posix(), Counter[int]()
        for record, text in _list_texts(path):
            numbers[record] += 1
            found.add(f"{name}:{record}.{numbers[record]}", text)
    return found


def _list_texts(path: Path) -> Iterator[tuple[int, str]]:
    """(record, text). A record is a line, an item of the file's list, or a paragraph."""
    if path.suffix not in SUFFIXES:
        raise SettingsError(
            f"{path} is not a readable protected set: write it as {', '.join(SUFFIXES)}, or "
            "move it elsewhere."
        )
    if path.suffix in (".txt", ".md"):
        yield from enumerate(path.read_text(encoding="utf-8").split("\n\n"), start=1)
        return
    for number, value in enumerate(read_records(path), start=1):
        yield from ((number, text) for text in list_strings(value))


def read_records(path: Path) -> list[Json]:
    """Values of a JSON file: of its lines, or the items of its list."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [
            _parse(path, number, line)
            for number, line in enumerate(content.splitlines(), start=1)
            if line.strip()
        ]
    value = _parse(path, 1, content)
    return value if is_array(value) else [value]


def read_lines(path: Path) -> list[Json]:
    """Values of a file with one per line, whatever its name."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        _parse(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()
    ]


def _parse(path: Path, line: int, text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(
            f"{path}, line {line}, is not JSON ({error}): correct the line or remove the file."
        ) from None


def list_strings(value: Json) -> Iterator[str]:
    """All texts in a value, except keys."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for inner in value.values():
            yield from list_strings(inner)
    elif is_array(value):
        for inner in value:
            yield from list_strings(inner)
