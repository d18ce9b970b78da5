"""A summary of what failed: each sort of failure once, with how often it came, in place of every
line of it.

12 failing cases ──tables, ids, numbers and quotes taken out──► 3 sorts ──the first of each, shortened──► what a repair is told
"""

import re
from collections import defaultdict

MOST_SORTS = 8
LONGEST = 400
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\b\w*\d\w*\b")


def sum_up(failure: str) -> str:
    """Sorts of failures, the most frequent first; a text of one line or none stays as it is."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    if len(lines) < 2:
        return failure[: 4 * LONGEST]
    sorts: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        sorts[_VARYING.sub("…", line)].append(line)
    told = sorted(sorts.values(), key=lambda alike: (-len(alike), lines.index(alike[0])))
    left = sum(len(alike) for alike in told[MOST_SORTS:])
    words = [_describe(alike) for alike in told[:MOST_SORTS]] + (
        [f"And {left} more of other sorts."] if left else []
    )
    return "\n".join(words)


def _describe(alike: list[str]) -> str:
    often = f" ({len(alike)} times like this)" if len(alike) > 1 else ""
    return alike[0][:LONGEST] + often
