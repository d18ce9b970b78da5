"""Places: the scenarios yet to be thought up of an environment, and the polarity that each is asked
for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from envmill.recipes.drafting.errands import TakenLine
from envmill.recipes.drafting.offered import OfferedChain
from envmill.stages.review import name_place
from schemas.base import Json, digest
from schemas.choice import EasyParent
from schemas.environment import Environment, Test
from schemas.scenario import Polarity, Scenario


@dataclass(frozen=True)
class HardenedParent:
    """A scenario of an earlier run, with how often policies passed it, that a place has to be
    harder than."""

    scenario: Scenario
    easy: EasyParent


@dataclass(frozen=True)
class ScenarioSlot:
    """A scenario yet to be thought up: the n-th of an environment."""

    environment: Environment
    number: int
    places: int = 0
    """Number after the last place of the environment; 0 where they are not planned together."""
    first: int = 0
    """Number of the environment's first place; those before it belong to earlier runs."""
    taken: tuple[TakenLine, ...] = ()
    """Lines of the environment's scenarios in earlier runs."""
    parents: tuple[HardenedParent, ...] = ()
    """Scenarios that the places of the environment have to be harder than, one for each; empty in
    other runs."""
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

    @property
    def parent(self) -> HardenedParent | None:
        """The scenario that this one has to be harder than."""
        return self.parents[self.number - self.first] if self.parents else None

    def ask_polarity(self, shares: Mapping[Polarity, int], number: int) -> Polarity:
        """The polarity that a place of the environment is asked for. A harder scenario has that of
        its parent."""
        if self.parents:
            return self.parents[number - self.first].scenario.polarity
        return choose_polarity(shares, self.environment.id, number)


def rank_place(shares: Mapping[Polarity, int], place: ScenarioSlot) -> tuple[int, int]:
    """How many places of its polarity come before it in its environment, and how many there are;
    its number and 0 where nobody knows."""
    if place.number >= place.places:
        return place.number, 0
    asked = [place.ask_polarity(shares, number) for number in range(place.first, place.places)]
    own = place.number - place.first
    return asked[:own].count(asked[own]), asked.count(asked[own])


def choose_polarity(shares: Mapping[Polarity, int], environment: str, number: int) -> Polarity:
    """The polarity a place is asked for: shares are kept within an environment, and each
    environment begins elsewhere in the turn."""
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
