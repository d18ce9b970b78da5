"""Tokens without a vendor's tokenizer, by one rule for both sides of a comparison, and what they
cost where a beginning is cached."""

import re
from collections.abc import Iterator, Sequence

_PIECE = re.compile(r"[ _]?[^\W\d_]{1,8}|\d{1,3}|[ _]?[^\w\s]{1,3}|\s+|_")
"""Up to eight letters with the blank or underscore before them, up to three digits, up to three
marks, one run of white space."""
CACHED = 0.1
"""Price of a token that is read from a cache, over one that is not."""


def split(text: str) -> list[str]:
    return _PIECE.findall(text)


def weigh(requests: Sequence[Sequence[str]]) -> Iterator[float]:
    """The input of each request of a run: what is not cached, and a tenth of the longest beginning
    that it shares with an earlier one."""
    for place, tokens in enumerate(requests):
        shared = max((count_shared(tokens, earlier) for earlier in requests[:place]), default=0)
        yield len(tokens) - (1 - CACHED) * shared


def count_shared(first: Sequence[str], second: Sequence[str]) -> int:
    """Tokens that both begin with."""
    return next(
        (
            place
            for place, (one, other) in enumerate(zip(first, second, strict=False))
            if one != other
        ),
        min(len(first), len(second)),
    )
