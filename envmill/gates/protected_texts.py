"""Protected sets: texts of benchmarks that nothing we make may repeat, as somebody put them into a folder, and an index of them.

folder of .jsonl, .json, .txt, .md ─► texts ─► runs of 13 and 8 words, plain and masked ─┐
                                           └─► MinHash over runs of 3 masked words ──────┴─► what a text has in common with them
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from envmill.errors import SettingsError
from envmill.language.similarity import MASK, Near, Runs, list_runs, mask_words, share, split_words
from schemas.base import Json, is_array, is_object

LONG, MIDDLE, SHORT = 13, 8, 3
"""Runs of words: one of 13 is a quotation; of 8 it takes many; of 3 they are compared as a whole."""
_COPIED = 0.5
"""Share of the smaller text's runs of eight from which it is a copy, and the fewest that are more than a turn of speech."""
_FEWEST = 3
_ALIKE = 0.4
"""Share of masked runs of three from which a text is a reworded copy. Unrelated tasks of one genre share less than 0.05, copies with other
names 0.39 and more before they are masked."""
_TOLD = 10
"""Words of a masked run of 13 that must not be masks: a list of names is no quotation."""
_SUFFIXES = (".jsonl", ".json", ".txt", ".md")


@dataclass(frozen=True)
class ProtectedMatch:
    """What a text has in common with a protected one."""

    reason: str
    source: str
    """Set and place of the protected text."""
    shared: float
    """Share of runs, or 1 for a quotation."""
    words: str = ""
    """What was found in both."""


class Protected:
    """The index of all sets."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = {name: text for name, text in texts.items() if len(split_words(text)) >= LONG}
        """Place → text, of those long enough to be compared."""
        self.short = len(texts) - len(self.texts)
        """Texts too short for that: only their very words are found."""
        self.sets = dict(sorted(Counter(name.rpartition(":")[0] for name in texts).items()))
        self.digest = hashlib.blake2b(json.dumps(sorted(texts.items())).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        self._whole = {" ".join(split_words(text)): name for name, text in sorted(texts.items(), reverse=True)}
        self._long: dict[str, str] = {}
        self._middle: dict[str, set[str]] = defaultdict(set)
        self._sizes: dict[str, int] = {}
        self._near, self._runs = Near(_ALIKE / 2), dict[str, Runs]()
        for name, text in sorted(self.texts.items()):
            self._add(name, text)

    def _add(self, name: str, text: str) -> None:
        for run in _list_quotations(text):
            self._long.setdefault(run, name)
        eights = list_runs(split_words(text), MIDDLE)
        self._sizes[name] = len(eights)
        for run in eights:
            self._middle[run].add(name)
        self._runs[name] = list_runs(mask_words(text), SHORT)
        self._near.add(name, self._runs[name])

    def find(self, text: str) -> ProtectedMatch | None:
        """The plainest thing in common first."""
        words = split_words(text)
        if source := self._whole.get(" ".join(words)):
            return ProtectedMatch("same_text", source, 1.0, text[:200])
        if len(words) < MIDDLE:
            return None
        return self._find_quotation(text) or self._find_copy(words) or self._find_likeness(text)

    def _find_quotation(self, text: str) -> ProtectedMatch | None:
        found = sorted(run for run in _list_quotations(text) if run in self._long)
        return ProtectedMatch("quotation", self._long[found[0]], 1.0, found[0]) if found else None

    def _find_copy(self, words: Sequence[str]) -> ProtectedMatch | None:
        """By the smaller of the two: an excerpt, or the whole of it among other words."""
        eights = list_runs(words, MIDDLE)
        shared = Counter(name for run in eights for name in self._middle.get(run, ()))
        shares = {name: count / min(len(eights), self._sizes[name]) for name, count in shared.items() if count >= _FEWEST}
        best = min(shares, key=lambda name: (-shares[name], name), default="")
        return ProtectedMatch("copy", best, round(shares[best], 3)) if best and shares[best] >= _COPIED else None

    def _find_likeness(self, text: str) -> ProtectedMatch | None:
        runs = list_runs(mask_words(text), SHORT)
        shares = {name: share(runs, self._runs[name]) for name in self._near.find(runs)}
        best = min(shares, key=lambda name: (-shares[name], name), default="")
        return ProtectedMatch("reworded", best, round(shares[best], 3)) if best and shares[best] >= _ALIKE else None


def _list_quotations(text: str) -> Iterator[str]:
    """Runs of 13 words as they stand, and with names and numbers masked."""
    plain, masked = split_words(text), mask_words(text)
    if len(plain) >= LONG:
        yield from list_runs(plain, LONG)
    if len(masked) >= LONG:
        yield from (run for run in list_runs(masked, LONG) if LONG - run.split().count(MASK) >= _TOLD)


def read_protected(folder: Path) -> Protected | None:
    """None where there is nothing. Read once a process, as long as no file changes."""
    if not folder.is_dir():
        return None
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "README", "LICENSE")))
    return _read(folder, tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)) if paths else None


@lru_cache(maxsize=2)
def _read(folder: Path, files: tuple[tuple[Path, int, int], ...]) -> Protected:
    texts: dict[str, str] = {}
    for path, _, _ in files:
        name = path.relative_to(folder).with_suffix("").as_posix()
        texts |= {f"{name}:{place}": text for place, text in _list_texts(path)}
    if not texts:
        raise SettingsError(
            f"{folder} holds protected sets and no text among them: give it texts as {', '.join(_SUFFIXES)}, or take it away."
        )
    return Protected(texts)


def _list_texts(path: Path) -> Iterator[tuple[str, str]]:
    """(place, text): every text of five words and more, wherever in a JSON value it stands; paragraphs of plain files."""
    if path.suffix not in _SUFFIXES:
        raise SettingsError(f"{path} is no protected set that can be read: write it as {', '.join(_SUFFIXES)}, or move it elsewhere.")
    content = path.read_text(encoding="utf-8")
    if path.suffix in (".txt", ".md"):
        yield from ((str(number), part) for number, part in enumerate(content.split("\n\n"), start=1) if len(part.split()) >= 5)
        return
    documents = enumerate(content.splitlines(), start=1) if path.suffix == ".jsonl" else [(1, content)]
    for number, document in documents:
        if document.strip():
            yield from ((f"{number}{place}", text) for place, text in _walk(_parse(path, number, document)) if len(text.split()) >= 5)


def _parse(path: Path, line: int, text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}, line {line}, is no JSON ({error}): mend the line or take the file away.") from None


def _walk(value: Json, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif is_object(value):
        for key, inner in value.items():
            yield from _walk(inner, f"{place}.{key}")
    elif is_array(value):
        for number, inner in enumerate(value):
            yield from _walk(inner, f"{place}.{number}")
