"""What planting a fault is given and what it leaves: a case, the spoilt reply, and the places where
the fault may show."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

from offline.domain import Domain, Operation
from offline.program import name_class, write_program
from offline.renderings import RENDERINGS
from offline.tests import RuleTrial, try_brief
from offline.witness import Pair, PlannedProgram, Play, Trace
from offline.world import DomainWorld
from schemas.base import Contract, Json
from schemas.environment import Effect
from schemas.prompts import BlueprintReply, ProgramReply, ScenarioReply, TestsReply
from schemas.seed import Brief

Reply = TypeVar("Reply", bound=Contract)

MOST_TRACES = 16
"""Traces tried for one fault before it is called equivalent."""


@dataclass
class FaultCase(Generic[Reply]):
    """A clean reply and the knowledge it was rendered from."""

    brief: Brief
    """What was asked for."""
    domain: Domain
    """The variation."""
    seed: int
    """Seed of the variation."""
    key: str
    """Tells this question from others of the same variation."""
    reply: Reply
    """What a faultless author answers."""
    asked: Json = None
    """The inputs of the prompt."""

    @cached_property
    def version(self) -> PlannedProgram:
        """The clean program."""
        return self.render(write_program(self.domain))

    @property
    def tried(self) -> tuple[DomainWorld, list[RuleTrial]]:
        """A start, and calls on it whose outcome the domain model foretells."""
        return try_brief(self.brief, self.seed)

    def render(self, source: str, class_name: str = "") -> PlannedProgram:
        """Another program for the same plan."""
        tools: dict[str, Effect] = {
            name: each.effect for name, each in self.domain.operations.items()
        }
        schema = RENDERINGS[self.domain.kind].write_schema(self.domain)
        return PlannedProgram(source, class_name or name_class(self.domain), tools, schema)

    def find_trials(self, name: str, ends: Callable[[str], bool]) -> list[RuleTrial]:
        """Trials of an operation whose code is of the sort asked for; success has none."""
        return [each for each in self.tried[1] if each.call.name == name and ends(each.code)]

    @property
    def start(self) -> DomainWorld:
        """Where trials start."""
        return self.tried[0]

    def trace(self, trial: RuleTrial) -> Trace:
        """A trial as a trace."""
        return Trace(self.tried[0].state, (*trial.setup, trial.call))

    def pair(self, version: PlannedProgram, traces: Iterable[Trace]) -> tuple[Pair, ...]:
        """Clean and faulty program side by side on each trace."""
        return tuple(
            (Play(self.version, each), Play(version, each)) for each in list(traces)[:MOST_TRACES]
        )


@dataclass(frozen=True)
class Spoilt:
    """A reply with one fault in it."""

    reply: Json
    """The reply; it may be no valid record any more."""
    pairs: tuple[Pair, ...] = ()
    """Where clean and faulty should part, likeliest first."""
    words: str = ""
    """Why the fault is one, where no run can show it: it lies between the reply and its schema, or
    between text and structure."""


Plant: TypeAlias = Callable[[FaultCase[Reply], random.Random], Spoilt | None]
"""Plants one kind of mistake; none where this reply has no place for it."""
PlantBlueprint: TypeAlias = Plant[BlueprintReply]
PlantProgram: TypeAlias = Plant[ProgramReply]
PlantTests: TypeAlias = Plant[TestsReply]
PlantScenario: TypeAlias = Plant[ScenarioReply]
PlantText: TypeAlias = Callable[[str, random.Random], str]
"""Spoils the text of any reply."""


@dataclass(frozen=True)
class PlantedFault:
    """One mistake, planted."""

    kind: str
    """Which of the catalogue."""
    text: str
    """Reply text with the mistake."""
    clean: str
    """Reply text without it."""
    pairs: tuple[Pair, ...] = ()
    """Where clean and faulty should part, likeliest first."""
    words: str = ""
    """Why the fault is one, where no run can show it."""


def shuffle(items: Iterable[Operation], dice: random.Random) -> Iterator[Operation]:
    """Operations in an order that chance decides."""
    mixed = list(items)
    dice.shuffle(mixed)
    return iter(mixed)


def succeeds(code: str) -> bool:
    """Whether a trial of this code is carried out."""
    return not code


def is_refused(code: str) -> bool:
    """Whether a trial of this code is rejected."""
    return bool(code)
