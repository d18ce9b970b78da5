"""Texts compared by their words: runs of words, what is left when names and numbers are masked, and
an index of those worth comparing.

text ─► words ─► runs of n ─► share in common         (exact)
                          └─► MinHash ─► Near index   (finds candidates; whoever asks compares them exactly)
"""

import re
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]
    from numpy import uint64
    from numpy.typing import NDArray

PERMUTATIONS = 128
MASK = "_"

Runs = frozenset[str]
"""Runs of words, each as one text."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[.!?:\n]")
_HAS_DIGIT = re.compile(r"\d")


def split_words(text: str) -> list[str]:
    """In small letters, without punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def mask_words(text: str) -> list[str]:
    """The same, with numbers and names masked, since clones exchange them. A name has a capital
    where no sentence begins; masks in a row
    are one."""
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
    """Every run of so many words; a shorter text is one run. Nothing has none."""
    last = max(1, len(words) - size + 1)
    return (
        frozenset(" ".join(words[place : place + size]) for place in range(last))
        if words
        else frozenset()
    )


def list_pairs(words: Sequence[str]) -> Runs:
    """Every two words that stand side by side or with one between them. Where one word of twelve is
    left out or is another, half of the
    pairs of both texts together are still in both; of runs of three words, a third."""
    near = (
        (first, second)
        for reach in (1, 2)
        for first, second in zip(words, words[reach:], strict=False)
    )
    return frozenset(f"{first} {second}" for first, second in near)


def share(one: Runs, other: Runs) -> float:
    """Runs in both among those in either."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0


class Near:
    """An index that finds what may be alike. It is made of fixed permutations: the same texts are found in every process.

    Its bands lie in a database of its own, below TMPDIR once it outgrows a few MB: a run may compare any number of texts.
    """

    def __init__(self, threshold: float, permutations: int = PERMUTATIONS) -> None:
        """Take a threshold well below what decides: a candidate too many costs a comparison, one too few is never seen."""
        # Imported late: a second, of scipy and redis, that only those pay who compare.
        from datasketch import MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

        self._ranges: Sequence[tuple[int, int]] = MinHashLSH(
            threshold=threshold, num_perm=permutations
        ).hashranges
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
            self.add_hash(name, _hash(runs))

    def find(self, runs: Runs) -> list[str]:
        """Names in order."""
        return self.find_hash(_hash(runs)) if runs else []

    def add_hash(self, name: str, hashed: "MinHash") -> None:
        """A name that is there stays as it is."""
        number = self._base.execute(
            "insert or ignore into names (name) values (?) returning number", [name]
        ).fetchone()
        if number is not None:
            self._base.executemany(
                "insert or ignore into bands values (?, ?)",
                [(key, number[0]) for key in self._list_keys(hashed)],
            )

    def find_hash(self, hashed: "MinHash") -> list[str]:
        """Names in order."""
        keys = self._list_keys(hashed)
        question = f"select distinct name from bands join names using (number) where key in ({', '.join('?' * len(keys))}) order by name"
        return [name for (name,) in self._base.execute(question, keys)]

    def _list_keys(self, hashed: "MinHash") -> list[bytes]:
        """Of each band: its place, and a hash of its values."""
        values = cast("NDArray[uint64]", hashed.hashvalues)  # pyright: ignore[reportUnknownMemberType]
        parts = [values[start:end].tobytes() for start, end in self._ranges]
        return [
            bytes([place]) + blake2b(part, digest_size=15).digest()
            for place, part in enumerate(parts)
        ]


def _hash(runs: Runs) -> "MinHash":
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]

    hashed = MinHash(num_perm=PERMUTATIONS, seed=1)
    hashed.update_batch([run.encode() for run in runs])  # pyright: ignore[reportUnknownMemberType]
    return hashed
