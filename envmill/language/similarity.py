"""Texts compared by their words: runs of words, what is left when names and numbers are masked, and
an index of those worth comparing.

text ─► words ─► runs of n ─► share in common         (exact)
                          └─► MinHash ─► Near index   (finds candidates; whoever asks compares them exactly)
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]

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
    """An index that finds what may be alike. It is made of fixed permutations: the same texts are
    found in every process."""

    def __init__(self, threshold: float) -> None:
        """Take one well below what decides: a candidate too many costs a comparison, one too few is
        never seen."""
        # Imported late: a second, of scipy and redis, that only those pay who compare.
        from datasketch import MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

        self._lsh = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self._known: set[str] = set()

    def add(self, name: str, runs: Runs) -> None:
        if runs and name not in self._known:
            self._known.add(name)
            self._lsh.insert(name, _hash(runs))

    def find(self, runs: Runs) -> list[str]:
        """Names in order."""
        found: Iterable[object] = self._lsh.query(_hash(runs)) if runs else ()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return sorted(str(one) for one in found)


def _hash(runs: Runs) -> "MinHash":
    from datasketch import MinHash  # pyright: ignore[reportMissingTypeStubs]

    hashed = MinHash(num_perm=PERMUTATIONS, seed=1)
    hashed.update_batch([run.encode() for run in runs])  # pyright: ignore[reportUnknownMemberType]
    return hashed
