"""Which answers name a planted fault rightly: a literal table, beside this file, with a sentence of
why for each kind."""

import tomllib
from functools import cache
from pathlib import Path

from schemas.base import Contract

TABLE = Path(__file__).with_suffix(".toml")


class Expected(Contract):
    """What one kind of fault is to be called."""

    names: list[str]
    """`GATE reason`, and after a colon words that the detail must hold."""
    why: str
    """What these answers have in common with the fault."""


@cache
def read_expected() -> dict[tuple[str, str], Expected]:
    """(prompt, kind) → names."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        (prompt, kind): Expected.model_validate(each)
        for prompt, kinds in table.items()
        for kind, each in kinds.items()
    }


def is_right(prompt: str, kind: str, gate: str, reason: str, detail: str) -> bool:
    """Whether an answer names this kind."""
    for name in read_expected()[prompt, kind].names:
        wanted, _, words = name.partition(": ")
        if wanted == f"{gate} {reason}".strip() and words in detail:
            return True
    return False
