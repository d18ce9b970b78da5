"""Rules told twice with another limit the second time: whoever keeps one breaks the other, or one
of them says nothing."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BEFORE = re.compile(
    r"\b(at most|at least|(more|less|fewer|longer|earlier|later|higher|lower) than|up to|within|"
    r"below|above|from)( \w+)? $",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?: \w+)? (?:(?:or|and) (?:more|less|fewer|better|longer|older|younger|higher|lower)\b|at "
    r"(?:most|least)(?=[.,;]|$))",
    re.IGNORECASE,
)


def find_rival_rules(rules: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs that differ in one number alone, which limits something: a number that names ("berth
    3") makes another rule."""
    alike = defaultdict[str, list[str]](list)
    for rule in dict.fromkeys(" ".join(each.split()) for each in rules):
        alike[_NUMBER.sub("#", rule).casefold()].append(rule)
    return (
        pair
        for group in alike.values()
        for pair in combinations(group, 2)
        if _differ_in_a_limit(*pair)
    )


def _differ_in_a_limit(one: str, other: str) -> bool:
    pairs = zip(_NUMBER.finditer(one), _NUMBER.finditer(other), strict=True)
    unlike = [mine for mine, yours in pairs if float(mine[0]) != float(yours[0])]
    return len(unlike) == 1 and _limits(unlike[0], one)


def _limits(number: re.Match[str], rule: str) -> bool:
    return bool(_BEFORE.search(rule[: number.start()]) or _AFTER.match(rule[number.end() :]))
