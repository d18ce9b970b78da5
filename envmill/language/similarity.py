"""Compares texts by their words: runs of words, texts with names and numbers masked, and an index
that finds candidates for a comparison.

text ─► words ─► runs of n ─► share in common         (exact)
                          └─► MinHash ─► Near index   (finds candidates; the caller compares them exactly)
"""

import re
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from envmill.language.minhash import choose_bands, sketch_set

if TYPE_CHECKING:
    from numpy import uint32
    from numpy.typing import NDArray

PERMUTATIONS = 128
MASK = "_"

Runs = frozenset[str]
"""Runs of words, each as one text."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[.!?:\n]")
_HAS_DIGIT = re.compile(r"\d")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def mask_words(text: str) -> list[str]:
    """The words of a text in lower case, with numbers and names masked, because clones exchange
    them. A capitalised word is a name unless it begins a sentence. Adjacent masks become one."""
    words: list[str] = []
    begins = True
    for token in _TOKEN.findall(text):
        if token in ".!?:\n":
            begins = True
            continue
        masked = bool(_HAS_DIGIT.search(token)) or (
            token[0].isupper() and not begins and token != "I"
        )
        begins = False
        if not (masked and words and words[-1] == MASK):
            words.append(MASK if masked else token.casefold())
    return words


def list_runs(words: Sequence[str], size: int) -> Runs:
    """Every run of `size` words. A shorter text is one run; an empty text has none."""
    last = max(1, len(words) - size + 1)
    return (
        frozenset(" ".join(words[place : place + size]) for place in range(last))
        if words
        else frozenset()
    )


def list_pairs(words: Sequence[str]) -> Runs:
    """Every pair of words that are adjacent or have one word between them. If one word in twelve is
    removed or replaced, half of all pairs of both texts are still in both. Of runs of three words,
    only a third are."""
    near = (
        (first, second)
        for reach in (1, 2)
        for first, second in zip(words, words[reach:], strict=False)
    )
    return frozenset(f"{first} {second}" for first, second in near)


def share(one: Runs, other: Runs) -> float:
    """Number of runs in both, divided by the number of runs in either."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0


class Near:
    """An index that finds texts that may be similar. Its permutations are fixed, so every process
    finds the same texts.

    Its bands are stored in an SQLite database of its own, in a file below TMPDIR once they outgrow
    a few MB. So a run may compare any number of texts.
    """

    def __init__(self, threshold: float, permutations: int = PERMUTATIONS) -> None:
        """The threshold should be well below the one that decides. A superfluous candidate costs
        one comparison, but a missed one is never found."""
        bands, size = choose_bands(threshold, permutations)
        self._ranges = [(band * size, (band + 1) * size) for band in range(bands)]
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute("pragma journal_mode = off")
        self._base.execute("create table names (number integer primary key, name text unique)")
        self._base.execute(
            "create table bands (key blob, number int, primary key (key, number)) without rowid"
        )

    def __del__(self) -> None:
        self._base.close()

    def add(self, name: str, runs: Runs) -> None:
        if runs:
            self.add_sketch(name, sketch_set(runs, PERMUTATIONS))

    def find(self, runs: Runs) -> list[str]:
        """Names in order."""
        return self.find_sketch(sketch_set(runs, PERMUTATIONS)) if runs else []

    def add_sketch(self, name: str, sketch: "NDArray[uint32]") -> None:
        """Adds a name. A name that is already in the index stays unchanged."""
        number = self._base.execute(
            "insert or ignore into names (name) values (?) returning number", [name]
        ).fetchone()
        if number is not None:
            self._base.executemany(
                "insert or ignore into bands values (?, ?)",
                [(key, number[0]) for key in self._list_keys(sketch)],
            )

    def find_sketch(self, sketch: "NDArray[uint32]") -> list[str]:
        """Names in order."""
        keys = self._list_keys(sketch)
        question = f"select distinct name from bands join names using (number) where key in ({', '.join('?' * len(keys))}) order by name"
        return [name for (name,) in self._base.execute(question, keys)]

    def _list_keys(self, sketch: "NDArray[uint32]") -> list[bytes]:
        """The key of each band: its position, and a hash of its values."""
        parts = [sketch[start:end].tobytes() for start, end in self._ranges]
        return [
            bytes([place]) + blake2b(part, digest_size=15).digest()
            for place, part in enumerate(parts)
        ]
