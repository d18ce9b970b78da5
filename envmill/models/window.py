"""How many calls of one model may be in flight: one more after each round of replies, half as many
after a complaint."""


class Window:
    """Additive increase, multiplicative decrease, between one and a ceiling; never more than
    `bound`, which others may lower."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = self.bound = ceiling
        self.size = float(ceiling)
        self.in_flight = 0
        self._shrunk = float("-inf")

    @property
    def open(self) -> bool:
        """Whether one more may go."""
        return self.in_flight < min(int(self.size), self.bound)

    def grow(self) -> None:
        """A reply came: a whole round of them makes room for one more."""
        self.size = min(float(self.ceiling), self.size + 1 / self.size)

    def shrink(self, began: float, now: float) -> bool:
        """A call was refused for being one too many; of those sent together, only the first counts.
        Whether it did."""
        if began < self._shrunk:
            return False
        self.size, self._shrunk = max(1.0, min(self.size, self.in_flight) / 2), now
        return True
