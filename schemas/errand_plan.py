"""An errand plan: one line for each scenario of an environment, written together so that no two of
them ask for the same."""

from typing import Any, ClassVar, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Json, Record, leave_out
from schemas.choice import PolicyRate
from schemas.environment import ToolPlan
from schemas.scenario import Polarity
from schemas.seed import Brief


class ErrandLine(Contract):
    """What one scenario is to be about."""

    number: int
    """Number of the scenario."""
    who: str
    """The person who asks, in a few words: their part and what is particular about them."""
    what: str
    """What they want, in one sentence."""
    tools: list[str] = []
    """Tools that it takes: those that change something, and the lookups that it cannot be done
    without."""
    about: list[str] = []
    """Records, or kinds of records, that it is about, in a few words each."""
    state: str = ""
    """What is particular about the state that this scenario begins with, in one phrase."""


class ErrandPlace(Contract):
    """A scenario that a line is wanted for."""

    number: int
    """Number of the scenario."""
    polarity: Polarity
    """What success means in it. It is given, and no line changes it."""
    tools: list[str] = []
    """Tools that were sampled for it already; left out when empty."""
    links: str = ""
    """Which value of these tools goes where, in one line; left out when empty."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "tools", "links")


class ErrandsInput(Contract):
    """Plan the scenarios of one environment together."""

    brief: Brief
    name: str
    summary: str = ""
    """What the place is, and what an attribute holds where its name does not say so."""
    rules: list[str]
    policy: str = ""
    """Policy document; empty where there is none."""
    tools: list[ToolPlan]
    places: list[ErrandPlace]
    """Scenarios that lines are wanted for."""
    taken: list[str] = []
    """Lines of earlier scenarios of this environment."""
    results: bool = False
    """Whether a path may use a record that it makes."""


class EasyCall(Contract):
    """A call of a reference path."""

    name: str
    """Tool."""
    arguments: dict[str, Json] = {}
    """Arguments as they were sent."""


class EasyScenario(Contract):
    """A scenario that a policy nearly always passes, as the planner and the author of a harder one
    see it."""

    request: str
    """Its request."""
    path: list[EasyCall]
    """Its reference path."""
    demands: list[str]
    """What its verifier demands, in words."""
    solved: list[str] = []
    """How policies solve it, in words."""


class HarderPlace(ErrandPlace):
    """A scenario that a line is wanted for, harder than another one."""

    parent: EasyScenario
    """The scenario that it has to be harder than."""


class HarderInput(Contract):
    """Plan harder scenarios beside easy ones of the same environment."""

    brief: Brief
    name: str
    summary: str = ""
    """What the place is, and what an attribute holds where its name does not say so."""
    rules: list[str]
    policy: str = ""
    """Policy document; empty where there is none."""
    tools: list[ToolPlan]
    places: list[HarderPlace]
    """Scenarios that lines are wanted for, each with the one that it has to be harder than."""
    taken: list[str] = []
    """Lines of the environment's other scenarios."""
    results: bool = False
    """Whether a path may use a record that it makes."""


class HarderLine(ErrandLine):
    """What one harder scenario is to be about."""

    levers: list[str] = []
    """Names of the levers that make it harder, one to three of the list."""


class HarderReply(Contract):
    """The plan."""

    errands: list[HarderLine]
    """One line for each scenario asked for."""


class HarderErrand(ErrandLine):
    """The line of a harder scenario, as its author sees it."""

    levers: dict[str, str]
    """Levers that make it harder, each with what it means."""
    parent: EasyScenario
    """The scenario that it has to be harder than."""


class ErrandsReply(Contract):
    """The plan."""

    errands: list[ErrandLine]
    """One line for each scenario asked for."""


class PlannedErrand(Record):
    """The line of one scenario, and what its author made of it."""

    table: ClassVar[str] = "errands"
    prefix: ClassVar[str] = "ern"
    identity: ClassVar[tuple[str, ...]] = (
        "environment",
        "number",
        "polarity",
        "who",
        "what",
        "tools",
        "about",
        "state",
        "source",
        "parent",
    )
    late: ClassVar[tuple[str, ...]] = ("parent",)

    schema_version: int = 2
    """Version of this record's shape; older versions stay readable."""
    environment: str
    """Environment id."""
    number: int
    """Which scenario of its environment."""
    polarity: Polarity
    """What success was to mean there."""
    who: str
    """The person who asks; empty where the line is a requirement of the environment."""
    what: str
    """What they want, in one sentence."""
    tools: list[str]
    """Tools that it takes."""
    about: list[str]
    """Records, or kinds of records, that it is about."""
    state: str
    """What is particular about the state that the scenario begins with."""
    source: Literal["planned", "requirement"]
    """Whether a model planned it, or the environment was designed from it."""
    parent: str = ""
    """Scenario that this one was planned to be harder than; empty elsewhere."""
    levers: list[str] = []
    """What was to make it harder."""
    rates: list[PolicyRate] = []
    """How often policies passed the parent when this one was planned."""
    reason: str = ""
    """Why the scenario's author chose another errand, in the author's words; empty where the line
    was followed."""
