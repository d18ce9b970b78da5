"""Texts placed by the words they share, with no model at all: quick, free, and blind to a paraphrase."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from envmill.models.embedders.base import EmbeddedTexts, Vector

_WIDTH = 512
"""Dimensions; two features of ten thousand texts rarely meet in one, and a sign makes meetings cancel out."""
_WORD = re.compile(r"\w+")


class Lexical:
    """Words, pairs of words and triples of letters, hashed; weights fall off with repetition."""

    name = "lexical"
    label = "lexical/1"
    paid = False
    most_texts = 1024

    async def place(self, texts: Sequence[str]) -> EmbeddedTexts:
        return EmbeddedTexts(tuple(place_text(text) for text in texts))

    async def close(self) -> None:
        return


def place_text(text: str) -> Vector:
    """The same on every machine; empty for a text without a word."""
    vector = [0.0] * _WIDTH
    for feature, count in Counter(_find_features(text)).items():
        hashed = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
        vector[hashed % _WIDTH] += (1.0 + math.log(count)) * (1.0 if hashed >> 31 else -1.0)
    length = math.sqrt(sum(part * part for part in vector))
    return tuple(part / length for part in vector) if length else ()


def _find_features(text: str) -> Iterator[str]:
    words = _WORD.findall(text.casefold())
    for word in words:
        yield f"w {word}"
        yield from (f"l {word[start : start + 3]}" for start in range(len(word) - 2))
    for first, second in pairwise(words):
        yield f"p {first} {second}"
