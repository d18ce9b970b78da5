"""The space that errands are drawn from, as the data says: categories, complexities, personas."""

import tomllib
from functools import cache
from typing import NamedTuple

from envmill.base.settings import ROOT

SPACE = ROOT / "data" / "seeds" / "errands" / "space.toml"


class Space(NamedTuple):
    """Three lists; a cell is one of each."""

    categories: dict[str, str]
    """Name → what is done there, in a sentence."""
    complexities: dict[str, int]
    """Name → how many things are asked for at once, at most."""
    personas: dict[str, str]
    """Name → who that is and where."""


@cache
def load_space() -> Space:
    raw = tomllib.loads(SPACE.read_text(encoding="utf-8"))
    return Space(raw["categories"], raw["complexities"], raw["personas"])
