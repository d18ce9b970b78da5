"""W10, thin: not the same program as an earlier one once its names and literals are erased."""

import keyword
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from envmill.gates.base import Finding, drop, keep
from schemas.base import digest
from schemas.environment import Environment

GATE = "W10"


def find_duplicates(environments: Sequence[Environment]) -> Mapping[str, Finding]:
    """A decision over the whole set, in id order: the first of a structure is kept."""
    first: dict[str, str] = {}
    findings: dict[str, Finding] = {}
    for environment in sorted(environments, key=lambda one: one.id):
        twin = first.setdefault(hash_structure(environment), environment.id)
        if twin == environment.id:
            findings[environment.id] = keep(GATE)
        else:
            findings[environment.id] = drop(GATE, "duplicate", f"same structure as {twin}", {"twin": twin})
    return findings


def hash_structure(environment: Environment) -> str:
    """Hash of the programs with literals blanked and names numbered by first use."""
    return digest([list(_erase(text)) for _, text in sorted(environment.files.items())])


def _erase(text: str) -> Iterator[str]:
    """Tokens and not a tree: a tree is walked by recursion, and a program may be deeper than our stack."""
    numbers: dict[str, str] = {}
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield numbers.setdefault(token.string, f"n{len(numbers)}")
        elif token.type in (tokenize.STRING, tokenize.NUMBER):
            yield tokenize.tok_name[token.type]
        elif token.type not in (tokenize.COMMENT, tokenize.NL):
            yield token.string.strip() or tokenize.tok_name[token.type]
