"""Stand-in for RE2 on a bare interpreter: patterns that mean the same to the standard library,
written so that they do; others are refused.

RE2 pattern ──scan──► classes as RE2 means them, the end as the very end ──parse──► only what both engines know ──► compiled

Time is not bounded here as RE2 bounds it: the process is, by the processor time of a verdict.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

_PARSER: Any = import_module("re._parser")
_INSIDE = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_EDGE = r"(?:(?<![0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<=[0-9A-Za-z_])(?![0-9A-Za-z_]))"
_SAME = frozenset("nrtfv\\.+*?()|[]{}^$-/,:;!\"'#%&=@~<>_` ")
"""Characters that mean the same after a backslash."""
_KNOWN = frozenset(
    {
        "LITERAL",
        "NOT_LITERAL",
        "ANY",
        "IN",
        "BRANCH",
        "SUBPATTERN",
        "MAX_REPEAT",
        "MIN_REPEAT",
        "RANGE",
        "NEGATE",
        "CATEGORY",
    }
    | {"AT", "ASSERT", "ASSERT_NOT"}
)


class error(ValueError):
    """A pattern that is none, or that only RE2 can run."""


class Options:
    """Settings of the real one."""

    max_mem = 0
    log_errors = False


class Pattern:
    """A compiled pattern."""

    def __init__(self, written: str) -> None:
        self._compiled = re.compile(written)

    def search(self, text: str) -> Any:
        """The first place it matches at."""
        return self._compiled.search(text)

    def sub(self, new: str | Callable[[Any], str], text: str) -> str:
        """The text with another in place of each match."""
        parts: list[str] = []
        last = 0
        for found in self._find_all(text):
            parts += [text[last : found.start()], new(found) if callable(new) else new]
            last = found.end()
        return "".join((*parts, text[last:]))

    def _find_all(self, text: str) -> Iterator[Any]:
        """As the real one goes on: behind a match, and one character further where it stood
        still."""
        place = 0
        while place <= len(text) and (found := self._compiled.search(text, place)):
            yield found
            place = place + 1 if found.end() == place else found.end()


def compile(pattern: str, options: Options | None = None) -> Pattern:  # noqa: ARG001  as it is called there
    """The pattern, or `error`."""
    return Pattern(translate(pattern))


def translate(pattern: str) -> str:
    """The same pattern as the standard library writes it; `error` where it cannot write it."""
    written = "".join(_scan(pattern))
    try:
        tree: Any = _PARSER.parse(written)
        re.compile(written)
    except (re.error, RecursionError, OverflowError) as reason:
        raise error(f"only RE2 can run it: {reason}") from None
    if strange := {str(op) for op in _list_operations(tree)} - _KNOWN:
        raise error(f"only RE2 can run it: {sorted(strange)[0].lower()}")
    return written


def _scan(pattern: str) -> Iterator[str]:
    """Piece by piece, with classes, edges and the end put as RE2 means them."""
    place, inside, folded = 0, False, False
    if found := re.match(r"\(\?([ims]+)\)", pattern):
        place, folded = found.end(), "i" in found[1]
        yield found[0]
        if "m" in found[1] and "$" in pattern:
            raise error("only RE2 can run it: an end of every line")
    while place < len(pattern):
        here = pattern[place]
        if here == "\\":
            yield _escape(pattern[place + 1 : place + 2], inside, folded)
            place += 2
            continue
        yield from _take(pattern, place, inside)
        inside, place = _step(pattern, place, inside)


def _take(pattern: str, place: int, inside: bool) -> Iterator[str]:
    here, rest = pattern[place], pattern[place:]
    refused = (
        ("[:", "[=", "[.", "&&", "--", "||", "~~")
        if inside
        else ("(?<", "(?P=", "(?=", "(?!", "(?#", "(?(", "(?>", "{,", "(?i", "(?s", "(?m")
    )
    if rest.startswith(refused) or (
        not inside and re.match(r"(?:[*+?]|\{\d+(?:,\d*)?\})[*+]", rest)
    ):
        raise error(f"only RE2 can run it: {rest[:3]}")
    yield r"\Z" if here == "$" and not inside else here


def _step(pattern: str, place: int, inside: bool) -> tuple[bool, int]:
    """A bracket that opens a class, with a closing one right behind it that does not close it."""
    if not inside and pattern[place] == "[":
        if re.match(r"\[\^?\]", pattern[place:]):
            raise error("only RE2 can run it: a bracket as the first of a class")
        return True, place + 1
    return inside and pattern[place] != "]", place + 1


def _escape(letter: str, inside: bool, folded: bool) -> str:
    if letter in _INSIDE:
        return _INSIDE[letter] if inside else f"[{_INSIDE[letter]}]"
    if letter.lower() in _INSIDE and not inside:
        return f"[^{_INSIDE[letter.lower()]}]"
    if letter == "b" and not inside:
        # Folded, the letters would also take the two signs that fold to one of them: at an edge
        # they are none.
        return f"(?-i:{_EDGE})" if folded else _EDGE
    if letter in ("A", "z") and not inside:
        return rf"\{letter.upper()}"
    if letter and letter in _SAME:
        return f"\\{letter}"
    raise error(f"only RE2 can run it: \\{letter}")


def _list_operations(tree: Any) -> Iterator[Any]:
    for operation, inner in tree:
        yield operation
        for part in _list_parts(inner):
            yield from _list_operations(part)


def _list_parts(inner: Any) -> Iterator[Any]:
    """Subpatterns, however deep the tuple that holds them."""
    if hasattr(inner, "getwidth"):
        yield inner
    elif isinstance(inner, list | tuple):
        for one in inner:  # pyright: ignore[reportUnknownVariableType]
            yield from _list_parts(one)
