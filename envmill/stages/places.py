"""Places: the scenarios yet to be thought up of an environment, and the polarity that each is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from envmill.stages.review import name_place
from schemas.base import digest
from schemas.environment import Environment
from schemas.scenario import Polarity


@dataclass(frozen=True)
class ScenarioSlot:
    """A scenario yet to be thought up: the n-th of an environment."""

    environment: Environment
    number: int
    places: int = 0
    """How many the environment has; 0 where they are not planned together."""
    requirements: tuple[str, ...] = ()
    """What the environment was designed from, where its recipe asked for that."""

    @property
    def id(self) -> str:
        return name_place(self.environment.id, self.number)


def choose_polarity(shares: Mapping[Polarity, int], environment: str, number: int) -> Polarity:
    """The polarity a place is asked for: shares are kept within an environment, and each environment begins elsewhere in the turn."""
    turn = spread(shares)
    return turn[(int(digest(environment, 8), 16) + number) % len(turn)]


def spread(shares: Mapping[Polarity, int]) -> list[Polarity]:
    """One turn of the mix, each polarity as evenly over it as its share lets it."""
    turn: list[Polarity] = []
    owed: dict[Polarity, int] = dict.fromkeys(shares, 0)
    for _ in range(sum(shares.values())):
        owed = {name: debt + shares[name] for name, debt in owed.items()}
        chosen = max(owed, key=lambda name: owed[name])
        owed[chosen] -= sum(shares.values())
        turn.append(chosen)
    return turn
