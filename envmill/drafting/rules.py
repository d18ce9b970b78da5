"""Rules told twice with another limit the second time: whoever keeps one breaks the other, or one of them says nothing."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BEFORE = re.compile(
    r"\b(at most|at least|(more|less|fewer|longer|earlier|later|higher|lower) than|up to|within|below|above|from)( \w+)? $", re.IGNORECASE
)
_AFTER = re.compile(
    r"(?: \w+)? (?:(?:or|and) (?:more|less|fewer|better|longer|older|younger|higher|lower)\b|at (?:most|least)(?=[.,;]|$))", re.IGNORECASE
)


def find_rival_rules(rules: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs that differ in one number alone, which limits something: a number that names ("berth 3") makes another rule."""
    told = [" ".join(each.split()) for each in rules]
    for one, other in combinations(dict.fromkeys(told), 2):
        if _differ_in_a_limit(one, other):
            yield one, other


def _differ_in_a_limit(one: str, other: str) -> bool:
    mine, yours = [*_NUMBER.finditer(one)], [*_NUMBER.finditer(other)]
    if _NUMBER.sub("#", one).casefold() != _NUMBER.sub("#", other).casefold():
        return False
    unlike = [each for each, twin in zip(mine, yours, strict=True) if float(each[0]) != float(twin[0])]
    return len(unlike) == 1 and _limits(unlike[0], one)


def _limits(number: re.Match[str], rule: str) -> bool:
    return bool(_BEFORE.search(rule[: number.start()]) or _AFTER.match(rule[number.end() :]))
