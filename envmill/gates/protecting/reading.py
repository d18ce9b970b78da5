"""Texts of a benchmark, read from a folder of .jsonl, .json, .txt and .md files."""

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
"""Words of a text that is more than a label."""


@dataclass(frozen=True)
class BenchmarkTask:
    """A task whose solution is known."""

    place: str
    text: str
    """All that its user says, or is told to say."""
    calls: tuple[tuple[str, dict[str, Json]], ...]
    """Tool and arguments of each call of the solution."""
    changes: tuple[tuple[list[str], str, Json], ...] = ()
    """Path, operation and value after, of each change that the solution makes; empty where that is
    not known."""


@dataclass
class BenchmarkDomain:
    """A world of a benchmark, by what a look-alike of it would have."""

    interface: set[str] = field(default_factory=set[str])
    """Names of tools, of their parameters, and of columns, each as words after a letter for what it
    is."""
    policy: list[str] = field(default_factory=list[str])
    """Paragraphs."""


@dataclass
class Benchmark:
    """What a reader found."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Place → text. A place is file, record, and number of the text in it: names of keys may be
    content."""
    tasks: list[BenchmarkTask] = field(default_factory=list[BenchmarkTask])
    domains: dict[str, BenchmarkDomain] = field(default_factory=dict[str, BenchmarkDomain])
    """Name of a world → what it is made of."""

    def add(self, place: str, text: str) -> None:
        if len(text.split()) >= _LEAST:
            self.texts[place] = text


def add_turns(found: Benchmark, place: str, turns: list[str]) -> None:
    """All that is said, and each part of it."""
    found.add(f"{place}.1", "\n".join(turns))
    for number, turn in enumerate(turns if len(turns) > 1 else [], start=2):
        found.add(f"{place}.{number}", turn)


def list_files(folder: Path) -> list[Path]:
    """What counts as protected in a folder; pages about it do not."""
    found = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    return [
        path for path in found if not path.name.startswith((".", "README", "LICENSE", "NOTICE"))
    ]


def read_any(folder: Path) -> Benchmark:
    """Every text, wherever in a JSON value it stands, and paragraphs of plain files. Sketches in
    the folder are left out."""
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
    """(record, text): a record is a line, an item of a list that is the whole file, or a
    paragraph."""
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
    """Values of a JSON file: its lines, where it is one a line, or the items of its list."""
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
    """Values of a file that has one a line, whatever it is called."""
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
    """Every text in a value, keys aside."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for inner in value.values():
            yield from list_strings(inner)
    elif is_array(value):
        for inner in value:
            yield from list_strings(inner)
