"""What a run starts from, chosen when it is opened and kept with it, and what was known of earlier
runs then."""

from pydantic import Field

from schemas.base import Contract
from schemas.seed import Seed


class Past(Contract):
    """What earlier runs of a recipe in the same lake started from; empty in an empty lake."""

    turns: dict[str, int] = Field(default_factory=dict)
    """Theme → the first variation of it that no earlier run started from; a theme that is not here
    was never used."""
    named: dict[str, str] = Field(default_factory=dict)
    """Themes that models named in earlier runs and that were worth building, each with its
    description."""
    fields: dict[str, int] = Field(default_factory=dict)
    """Field of work, as the authors of mined and named themes counted them to it → how many seeds
    of it earlier runs started from."""
    cells: dict[str, int] = Field(default_factory=dict)
    """Cell, as `category/complexity/persona` → how many seeds were drawn from it."""


class PolicyRate(Contract):
    """How often a policy passed one scenario."""

    policy: str = ""
    """Policy, as rollouts name it; empty where nobody said."""
    attempts: int
    """Attempts that were judged."""
    passes: int
    """Of them, passed."""
    calls: float | None = None
    """Mean number of tool calls of the attempts that passed; null where this is not known."""

    @property
    def share(self) -> float:
        return self.passes / self.attempts if self.attempts else 0.0


class EasyParent(Contract):
    """A scenario of an earlier run that is to get a harder one beside it."""

    scenario: str
    """Scenario id."""
    environment: str
    """Environment id."""
    run: str
    """Run that holds it."""
    rates: list[PolicyRate]
    """Pass rates as they were when the run was opened."""


class GivenEnvironments(Contract):
    """Environments of earlier runs that a run starts from."""

    runs: list[str]
    """Runs that they come from."""
    known: list[str]
    """Runs that hold scenarios of them."""
    environments: list[str]
    """Environment ids."""
    first: dict[str, int]
    """Environment → number of its first new scenario."""
    parents: list[EasyParent] = Field(default_factory=list[EasyParent])
    """Scenarios that get a harder one; empty where the run asks for more scenarios, not for harder
    ones."""
    skipped: dict[str, int] = Field(default_factory=dict)
    """Why other kept scenarios of these runs are no parents → how many."""


class SeedChoice(Contract):
    """The choice of one run. Every process and every Retry of the run reads it."""

    past: Past = Past()
    """Earlier runs as they were when the run was opened."""
    seeds: list[Seed] = Field(default_factory=list[Seed])
    """Seeds that the run starts from; empty where it mines or grows its themes first."""
    given: GivenEnvironments | None = None
    """Environments of earlier runs; null where the run makes its own."""


NO_PAST = Past()
