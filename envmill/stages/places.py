"""Places: the scenarios yet to be thought up of an environment, and the polarity that each is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from envmill.recipes.drafting.offered import OfferedChain
from envmill.stages.review import name_place
from schemas.base import Json, digest
from schemas.environment import Environment, Test
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
    tests: tuple[Test, ...] = ()
    """Stored tests of the environment: what sampled chains are carried out with."""
    rows: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Rows of the environment's blueprint, where it has any."""
    offered: OfferedChain | None = None
    """Chain that the author was offered."""

    @property
    def id(self) -> str:
        return name_place(self.environment.id, self.number)


def rank_place(shares: Mapping[Polarity, int], place: ScenarioSlot) -> tuple[int, int]:
    """How many places of its polarity come before it in its environment, and how many there are; its number and 0 where nobody knows."""
    if place.number >= place.places:
        return place.number, 0
    asked = [choose_polarity(shares, place.environment.id, number) for number in range(place.places)]
    return asked[: place.number].count(asked[place.number]), asked.count(asked[place.number])


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
