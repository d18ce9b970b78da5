"""The stand-in for RE2: what it takes it decides as RE2 does, and what it cannot decide alike it
refuses."""

import random
import re
from collections.abc import Iterator

import pytest
import re2

from envmill.interop.bundles.envrun.judge.re2 import compile as compile_bare
from envmill.interop.bundles.envrun.judge.re2 import error, translate
from tests.soak import count

PIECES = (
    "a",
    "B",
    "ß",
    "7",
    r"\d",
    r"\D",
    r"\w",
    r"\s",
    r"\b",
    ".",
    "[a-f]",
    "[^a-z]",
    r"[\d-]",
    r"[\s,;]",
    "(?:ab|7)",
    "(x|y)",
    "^",
    "$",
    r"\.",
    " ",
    "é",
    "-",
    r"\A",
    r"\z",
)
TIMES = ("", "", "", "*", "+", "?", "{1,3}", "*?", "+?", "{2}")
LETTERS = "aAbBxy7 9.,-;_é߀\n\t\v\x0bſKabf"


def draw_patterns(number: int) -> Iterator[str]:
    dice = random.Random(f"patterns-{number}")
    for _ in range(number):
        parts = (dice.choice(PIECES) for _ in range(dice.randint(1, 6)))
        body = "".join(
            part + ("" if part in "^$" or part[:2] in (r"\b", r"\A", r"\z") else dice.choice(TIMES))
            for part in parts
        )
        yield dice.choice(("", "", "(?i)", "(?s)")) + body


def squeeze(text: str) -> str:
    """Engines differ in how often nothing is found beside something; words part alike."""
    return re.sub("\n+", "\n", text)


@pytest.mark.soak(area="trust")
def test_both_engines_decide_alike() -> None:
    dice, taken, options = random.Random(5), 0, re2.Options()
    options.log_errors = False
    for pattern in draw_patterns(count(400, 20_000)):
        try:
            real, bare = re2.compile(pattern, options=options), compile_bare(pattern)
        except (re2.error, error):
            continue
        if real.search("") is not None:
            continue  # no fact has such a pattern
        taken += 1
        for _ in range(12):
            text = "".join(dice.choice(LETTERS) for _ in range(dice.randint(0, 14)))
            assert (real.search(text) is None) == (bare.search(text) is None), (pattern, text)
            assert squeeze(str(real.sub("\n", text))) == squeeze(bare.sub("\n", text)), (
                pattern,
                text,
            )
    assert taken > count(150, 8_000), "most of them are taken"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL+",
        r"[[:alpha:]]",
        r"(?<n>a)",
        r"a(?i)b",
        r"\Qa.b\E",
        r"(?m)a$",
        r"\Ca",
        "a{,3}",
        "[]a]",
        "(?=a)",
        r"(a)\1",
        "a++",
        "(?U)a+",
        r"\x{41}",
        "(",
    ],
)
def test_what_means_something_else_is_refused(pattern: str) -> None:
    with pytest.raises(error):
        translate(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bpolicy \d+(?:\.\d+)?\b",
        r"(?i)not (?:eligible|allowed)",
        r"\d{4}-\d{2}-\d{2}",
        r"(?i)clause\s+4[.b]",
        r"ends\.$",
    ],
)
def test_what_authors_write_is_taken(pattern: str) -> None:
    assert translate(pattern)
