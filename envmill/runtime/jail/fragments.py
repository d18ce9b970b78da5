"""A tool's reply rendered at once, where that is sure to say what making it plain and rendering it
would: a third of a call's time.

value ──marshal──► only exact types? ──codec──► JSON ──► nothing that JSON would change without a word? ──► a fragment of the frame

Where any answer is no, or not known, the long way is taken, which also says what is wrong.
"""

import marshal
import re
from typing import Any

from envmill.runtime.canonical import MAX_DEPTH, MAX_REPLY
from envmill.runtime.jail import wire
from envmill.runtime.reply import WIDEST

_NOT_FINITE = re.compile(rb"g.{6}[\xf0-\xff][\x7f\xff]", re.DOTALL)
"""A float in marshal's second version that is no number, or bytes that look like one."""
_SHALLOW = 2 * (MAX_DEPTH + 1)
"""Bytes in which nothing is nested deeper than allowed."""
_MOST = MAX_REPLY // WIDEST
_dumps, _find = marshal.dumps, _NOT_FINITE.search


def make_fragment(value: Any) -> Any:
    """The value for the codec to copy into a frame as it is; None when the long way has to be
    taken."""
    try:
        packed = _dumps(value, 2)
        # Refuses keys that are no text, halves of characters, and integers that some readers round.
        rendered = wire.render_strictly(value)
    except (ValueError, TypeError):
        return None
    # What is not finite is rendered as null.
    if len(packed) > _MOST or (b"null" in rendered and _find(packed)):
        return None
    # No more brackets than levels are allowed: they cannot be nested deeper.
    if len(rendered) >= _SHALLOW and rendered.count(b"{") + rendered.count(b"[") > MAX_DEPTH:
        return None
    return wire.embed(rendered)
