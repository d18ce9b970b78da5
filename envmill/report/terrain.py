"""A map of environments: those whose texts share words lie close together.

name, summary, tools, rules ─► counts of hashed words, rare ones weighing more ─► the two directions in which they differ most
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (numpy's types say nothing of shapes)

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from envmill.language.similarity import split_words

_WIDTH = 512  # words are hashed into so many columns: ten thousand environments are 40 MB
# environments up to which each is told its nearest: more would take minutes and be read by nobody
_NEAR = 2000
_FEW = 3  # letters of the shortest word that says anything


def draw_map(texts: Iterable[str]) -> list[dict[str, float | int | None]]:
    """Place of each text, and its nearest other with what they have in common (cosine of their
    words)."""
    weighed = _weigh(
        np.array([_count(text) for text in texts], dtype=np.float64).reshape(-1, _WIDTH)
    )
    places = _project(weighed)
    near, share = _find_nearest(weighed)
    return [
        {
            "x": round(float(x), 4),
            "y": round(float(y), 4),
            "near": None if one < 0 else int(one),
            "alike": round(float(alike), 3),
        }
        for (x, y), one, alike in zip(places, near, share, strict=True)
    ]


def _count(text: str) -> NDArray[np.float64]:
    row = np.zeros(_WIDTH)
    for word in split_words(text.replace("_", " ")):
        if len(word) >= _FEW:
            row[zlib.crc32(word.encode()) % _WIDTH] += 1
    return row


def _weigh(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts by their logarithm, times how rare the word is, to length one."""
    seen = (counts > 0).sum(axis=0)
    weighed = np.log1p(counts) * np.log((1 + len(counts)) / (1 + seen))
    length = np.linalg.norm(weighed, axis=1, keepdims=True)
    return weighed / np.where(length > 0, length, 1)


def _project(weighed: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(weighed) < 3:  # two lie on a line, one anywhere
        return np.array([[float(number), 0.0] for number in range(len(weighed))]).reshape(-1, 2)
    centred = weighed - weighed.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    chosen = directions[:, [-1, -2]]
    signs = np.sign(
        chosen[np.abs(chosen).argmax(axis=0), [0, 1]]
    )  # an eigenvector's sign is chance; the map should not flip
    return centred @ (chosen * np.where(signs == 0, 1, signs))


def _find_nearest(weighed: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if not 2 <= len(weighed) <= _NEAR:
        return np.full(len(weighed), -1), np.zeros(len(weighed))
    shared = weighed @ weighed.T
    np.fill_diagonal(shared, -1)
    return shared.argmax(axis=1), shared.max(axis=1)
