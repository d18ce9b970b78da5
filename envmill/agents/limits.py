"""The bounds of a rollout."""

from dataclasses import dataclass

from schemas.run import RunConfig


@dataclass(frozen=True)
class RolloutLimits:
    """Each ends a rollout under a name of its own, and what was done until then is judged."""

    steps: int = 40
    """Tool calls; of a turn with several, those that still fit are made."""
    turns: int = 16
    """Messages to the user. Whoever is asked so often gives up."""
    tokens: int | None = None
    """Output tokens of a model, reasoning included."""
    seconds: float | None = None
    """Virtual time: waits, and what the weather took. Real time is the door's affair, and an outage
    when it is over."""
    errors: int = 3
    """Turns in a row whose calls could not be read."""

    @classmethod
    def of(cls, config: RunConfig) -> "RolloutLimits":
        return cls(steps=config.steps, turns=config.turns, tokens=config.tokens)

    def describe(self) -> dict[str, float]:
        """As they are stored with a rollout."""
        told = {
            "steps": self.steps,
            "turns": self.turns,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "errors": self.errors,
        }
        return {name: float(value) for name, value in told.items() if value is not None}
