"""A sketch of a program: what remains without names and literals, for comparing many programs.

text ─► statements, each with its own names numbered ─► shingles: neighbours within a method     (a renamed copy has the same)
                                                     └► guards: conditions that refuse           (another rule makes another program)
"""

import keyword
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING

from envmill.kinds import kind_of
from envmill.language.minhash import sketch_set
from schemas.base import Json, digest
from schemas.environment import Environment

if TYPE_CHECKING:
    from numpy import uint32
    from numpy.typing import NDArray

PERMUTATIONS = 64
_SHINGLE = 10
"""Digits of a shingle's hash. A program has some hundreds of shingles, and its sketch is stored."""
_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
)


@dataclass(frozen=True)
class Sketch:
    structure: str
    """Hash of the whole program with names numbered by first use. Only copies share it."""
    shingles: frozenset[str]
    """Hashes of neighbouring statements of a method, wherever the method is."""
    guards: str
    """Hash of all conditions that refuse, in any order."""

    def describe(self) -> dict[str, Json]:
        """The form in the lake, which later runs compare with theirs without reading the program
        again."""
        return {
            "structure": self.structure,
            "shingles": sorted(self.shingles),
            "guards": self.guards,
        }

    @classmethod
    def read(cls, told: Mapping[str, Json]) -> "Sketch":
        return cls(told["structure"], frozenset(told["shingles"]), told["guards"])

    def hash_shingles(self) -> "NDArray[uint32]":
        """A short sketch of the shingles, by which an index finds similar programs."""
        return sketch_set(sorted(self.shingles), PERMUTATIONS)

    def contain(self, other: "Sketch") -> float:
        """Share of the smaller sketch that the larger one contains."""
        least = min(len(self.shingles), len(other.shingles))
        return len(self.shingles & other.shingles) / least if least else 0.0


def make_sketch(environment: Environment) -> Sketch:
    """Reads tokens and not a syntax tree: a deep tree would exceed the recursion limit."""
    sources = kind_of(environment).list_sources(environment)
    statements = [statement for text in sources.texts for statement in _list_statements(text)]
    methods = _split_methods(statements)
    shingles = {
        digest(pair, _SHINGLE) for method in methods for pair in pairwise(["", *method, ""])
    }
    guards = Counter(
        " ".join(pair)
        for method in methods
        for pair in pairwise(method)
        if pair[0].startswith(("if ", "elif ")) and _refuses(pair[1])
    )
    guards += Counter(
        each for each in statements if sources.examined and each.startswith("assert ")
    )
    return Sketch(
        digest([list(_erase(text)) for text in sources.texts]),
        frozenset(shingles),
        digest(sorted(guards.items())),
    )


def _refuses(statement: str) -> bool:
    return statement.startswith(("raise ", "return "))


def _list_statements(text: str) -> Iterator[str]:
    """Logical lines, with names numbered within each. Docstrings are left out."""
    line: list[str] = []
    numbers: dict[str, str] = {}
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if line != ["STRING"]:
                yield " ".join(line)
            line, numbers = [], {}
        elif token.type not in _LAYOUT:
            line.append(_render(token, numbers))


def _render(token: tokenize.TokenInfo, numbers: dict[str, str]) -> str:
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return numbers.setdefault(token.string, f"n{len(numbers)}")
    return (
        tokenize.tok_name[token.type]
        if token.type in (tokenize.STRING, tokenize.NUMBER)
        else token.string
    )


def _split_methods(statements: Sequence[str]) -> list[list[str]]:
    methods: list[list[str]] = [[]]
    for statement in statements:
        if statement.startswith(("def ", "async def ", "class ")):
            methods.append([])
        methods[-1].append(statement)
    return methods


def _erase(text: str) -> Iterator[str]:
    numbers: dict[str, str] = {}
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            yield _render(token, numbers).strip() or tokenize.tok_name[token.type]
