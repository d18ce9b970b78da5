"""Two parts of one reply: the first was cut off, the second goes on from there, more or less."""

import re

_LONGEST, _SHORTEST = 400, 12
"""Characters the second part may say again; fewer may agree by chance."""
_FENCE = re.compile(r"\A\s*```\w*[ \t]*\n")
_AGAIN = re.compile(r'\A\s*\{\s*"')


def join(head: str, tail: str) -> str:
    """One text. A model that starts over is taken at its word: its second beginning is the
    reply."""
    tail = _FENCE.sub("", tail)
    opening = _AGAIN.match(head[head.find("{") :]) if "{" in head else None
    if opening and _AGAIN.match(tail) and _same_beginning(head[head.find("{") :], tail):
        return tail
    for length in range(min(_LONGEST, len(head), len(tail)), _SHORTEST - 1, -1):
        if head.endswith(tail[:length]):
            return head + tail[length:]
    return head + tail


def _same_beginning(head: str, tail: str) -> bool:
    """The same first key: an object in the middle of a reply begins with another."""
    first, second = ("".join(text.split())[:_SHORTEST] for text in (head, tail))
    return first == second
