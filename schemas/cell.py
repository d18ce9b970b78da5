"""A cell of the space that errands are drawn from."""

from schemas.base import Contract


class Cell(Contract):
    """Category × complexity × persona: recorded with everything that comes of it, so that coverage
    can be counted."""

    category: str
    """What sort of work it is, as `data/seeds/errands/space.toml` calls it."""
    complexity: str
    """How much is asked for at once."""
    steps: int
    """How many things that are, at most."""
    persona: str
    """Who asks."""
    about: str
    """Who that is and where, in a few words."""

    @property
    def name(self) -> str:
        """The three coordinates as one text."""
        return f"{self.category}/{self.complexity}/{self.persona}"
