"""Runs patterns of unknown authors with RE2. The time grows with the length of the text only,
whatever the pattern."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

LONGEST = 500
"""Maximal characters of a pattern."""
_MEMORY = 1 << 20
"""Bytes RE2 may spend on one pattern: `(a{1000}){1000}` asks for gigabytes."""


def find_fault(pattern: Any) -> str:
    """Why a pattern cannot be used; empty if it can."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > LONGEST:
        return f"a pattern is a text of 1 to {LONGEST} characters"
    try:
        return "the pattern is found in an empty text" if is_found(pattern, "") else ""
    except ValueError as error:
        return f"RE2 does not take the pattern ({str(error)[:200]})"


def is_found(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text. Raises ValueError for a pattern that RE2
    does not take."""
    return _compile(pattern).search(_render(text)) is not None


def drop(pattern: str, text: str) -> str:
    """The text with each match of the pattern replaced by a line break."""
    return str(_compile(pattern).sub("\n", _render(text)))


def replace(pattern: str, text: str, swap: Callable[[str], str]) -> str:
    """The text with `swap` applied to each match of the pattern."""

    def write(found: Any) -> str:
        return swap(found.group(0))

    return str(_compile(pattern).sub(write, _render(text)))


@lru_cache(64)
def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise ValueError(_describe(error)) from None


def _describe(error: Exception) -> str:
    said: Any = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _render(text: str) -> str:
    # A lone surrogate cannot be encoded. A message that contains one must still get a verdict.
    return text.encode("utf-8", "replace").decode()
