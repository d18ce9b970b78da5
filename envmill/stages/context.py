"""What every step works with, the subject it works on, and the result it gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, overload

from envmill.base.settings import Settings
from envmill.gates.base import Finding
from envmill.interop.exporters.base import ExportSet
from envmill.models.gateway import Gateway
from envmill.recipes.base import Recipe
from envmill.sandbox import Sandbox
from envmill.stages.errands import ErrandPlans
from envmill.stages.gate_workers import GateWorkers
from envmill.stages.offer_book import OfferBook
from envmill.stages.review import Locks
from envmill.verifiers.bounds import FindTruth
from schemas.base import Record
from schemas.choice import NO_PAST, Past
from schemas.environment import Environment, Test
from schemas.ledger import Attack, GateOutcome
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario, Split
from schemas.suspicion import JudgeCalibration

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class RunContext:
    """Means of one process working on one run."""

    run: str
    config: RunConfig
    settings: Settings
    recipe: Recipe
    door: Gateway
    sandbox: Sandbox
    keepers: GateWorkers | None = None
    """Who looks where many subjects wait; without any, this process does."""
    plans: ErrandPlans = field(default_factory=ErrandPlans)
    """What the scenarios of an environment are to be about, each block asked for once."""
    locks: Locks = field(default_factory=Locks)
    """What no repair may change; read anew at each step that repairs."""
    find_truth: FindTruth | None = None
    """Finds an independent truth about a scenario's ends, where the author of the domain is
    known."""
    offers: OfferBook = field(default_factory=OfferBook)
    """Chains that authors may be offered, by environment: drawn once in this process."""
    calibrations: tuple[JudgeCalibration, ...] = ()
    """How judges answered cases whose truth is known: without one a judge of suspicions has no
    say."""
    past: Past = NO_PAST
    """What earlier runs of the recipe started from, as it was when the run was opened."""


@dataclass(frozen=True)
class Subject(Generic[T_co]):
    """One candidate at one step, with what the step reads beside it."""

    id: str
    parent: str
    theme: str
    record: T_co


class Subjects(Sequence[Subject[T_co]]):
    """Candidates that enter a step. Only their ids are held; each is made of stored records when it is asked for."""

    def __init__(self, ids: Sequence[str], make: Callable[[str], Subject[T_co]]) -> None:
        self.ids, self.make = ids, make

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Subject[T_co]]:
        return map(self.make, self.ids)

    @overload
    def __getitem__(self, place: int) -> Subject[T_co]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Subject[T_co]]: ...
    def __getitem__(self, place: int | slice) -> Subject[T_co] | Sequence[Subject[T_co]]:
        return (
            self.make(self.ids[place])
            if isinstance(place, int)
            else [*map(self.make, self.ids[place])]
        )


def list_subjects(subjects: Sequence[Subject[T]]) -> Subjects[T]:
    """Few and small ones, all held in memory."""
    return Subjects([one.id for one in subjects], {one.id: one for one in subjects}.__getitem__)


@dataclass(frozen=True)
class EnvironmentWithTests:
    """An environment with its stored tests."""

    environment: Environment
    tests: tuple[Test, ...]
    held: Mapping[str, GateOutcome] = field(default_factory=dict[str, GateOutcome])
    """Gate → what its open probes said of this content in the repair loop."""


R_co = TypeVar("R_co", bound=Record, covariant=True)


@dataclass(frozen=True)
class PlacedScenario(Generic[R_co]):
    """A draft or scenario with its environment, the rollouts made of it so far, and at its gates
    the environment's other scenarios."""

    record: R_co
    environment: Environment
    rollouts: tuple[Rollout, ...] = ()
    siblings: tuple[Scenario, ...] = ()
    attacks: tuple[Attack, ...] = ()
    """What a search was paid for on any scenario of the environment."""
    split: Split = "train"
    """Split of the environment's cluster."""
    held: Mapping[str, GateOutcome] = field(default_factory=dict[str, GateOutcome])
    """Gate → what its open probes said of this content in the repair loop."""


@dataclass(frozen=True)
class ExportInput:
    """Everything a run has to export."""

    export_set: ExportSet
    provisional: frozenset[str] = frozenset()
    """Environments and scenarios that a required gate could not measure."""
    refused: frozenset[str] = frozenset()
    """What a reviewer rejected or a recall withdrew."""
    accepted: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a reviewer accepted → their words."""
    suspected: frozenset[str] = frozenset()
    """Environments and scenarios of tier `suspected`."""
    observed: frozenset[str] = frozenset()
    """Environments and scenarios that a gate would have dropped, in a run that observes."""
    crossed: frozenset[str] = frozenset()
    """Environments of several runs with scenarios that are held out and others that are not."""


@dataclass(frozen=True)
class Result:
    """What came of a subject: its findings decide, its records are saved either way."""

    records: tuple[Record, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def stopped_by(self) -> Finding | None:
        """The finding that ends this candidate here. What a gate could not measure goes on as provisional: its row says so."""
        return next(
            (finding for finding in self.findings if finding.outcome in ("dropped", "error")), None
        )
