"""What a run starts from, chosen when it is opened and kept with it, and what was known of earlier runs then."""

from pydantic import Field

from schemas.base import Contract
from schemas.seed import Seed


class Past(Contract):
    """What earlier runs of a recipe in the same lake started from; empty in an empty lake."""

    turns: dict[str, int] = Field(default_factory=dict)
    """Theme → the first variation of it that no earlier run started from; a theme that is not here was never used."""
    named: dict[str, str] = Field(default_factory=dict)
    """Themes that models named in earlier runs and that were worth building, each with its description."""
    cells: dict[str, int] = Field(default_factory=dict)
    """Cell, as `category/complexity/persona` → how many seeds were drawn from it."""


class SeedChoice(Contract):
    """The choice of one run. Every process and every Retry of the run reads it."""

    past: Past = Past()
    """Earlier runs as they were when the run was opened."""
    seeds: list[Seed] = Field(default_factory=list[Seed])
    """Seeds that the run starts from; empty where it mines or grows its themes first."""


NO_PAST = Past()
