"""What a run starts from."""

from typing import ClassVar

from schemas.base import Contract, Record


class Brief(Contract):
    """The few words an author gets about what to make; every later prompt carries it along."""

    theme: str
    """Working-life domain, for example `tool_lending`."""
    text: str
    """One or two sentences that describe the theme."""
    number: int
    """Which variation of the theme is wanted."""


class Seed(Record):
    """One starting point for one candidate environment."""

    table: ClassVar[str] = "seeds"
    prefix: ClassVar[str] = "seed"
    identity: ClassVar[tuple[str, ...]] = ("recipe", "brief")

    recipe: str
    """Recipe that will think it up."""
    brief: Brief
    """What the author is told."""
    licence: str
    """Licence of the seed text; unknown is not exported by default."""
