"""Patterns of an author we do not know, run by RE2: time grows with the text and nothing else, whatever the pattern.

RE2 comes with pyarrow, which takes a quarter of a second to import: only who has a pattern pays.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from functools import lru_cache
from importlib import import_module
from typing import Any

LONGEST = 500
"""Characters of a pattern."""


def find_fault(pattern: Any) -> str:
    """Why it cannot be used; empty when it can."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > LONGEST:
        return f"a pattern is a text of 1 to {LONGEST} characters"
    try:
        return "the pattern is found in an empty text" if is_found(pattern, "") else ""
    except ValueError as error:
        return f"RE2 does not take the pattern ({str(error)[:200]})"


def is_found(pattern: str, text: str) -> bool:
    """Whether it matches anywhere; ValueError for one that RE2 does not take."""
    return bool(_call("match_substring_regex", text, _make("MatchSubstringOptions", pattern)))


def drop(pattern: str, text: str) -> str:
    """The text without what it matches."""
    return str(_call("replace_substring_regex", text, _make("ReplaceSubstringOptions", pattern, "\n")))


@lru_cache(64)
def _make(options: str, *arguments: str) -> Any:
    return getattr(import_module("pyarrow.compute"), options)(*arguments)


def _call(function: str, text: str, options: Any) -> Any:
    # Half a surrogate pair is no text, and whoever says it must not keep a verdict from being reached.
    value = import_module("pyarrow").scalar(text.encode("utf-8", "replace").decode())
    return import_module("pyarrow.compute").call_function(function, [value], options).as_py()
