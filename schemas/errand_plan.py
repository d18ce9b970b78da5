"""An errand plan: one line for each scenario of an environment, written together so that no two of them ask for the same."""

from typing import Any, ClassVar, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Record, leave_out
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
    """Tools that it takes: those that change something, and the lookups that it cannot be done without."""
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


class ErrandsReply(Contract):
    """The plan."""

    errands: list[ErrandLine]
    """One line for each scenario asked for."""


class PlannedErrand(Record):
    """The line of one scenario, and what its author made of it."""

    table: ClassVar[str] = "errands"
    prefix: ClassVar[str] = "ern"
    identity: ClassVar[tuple[str, ...]] = ("environment", "number", "polarity", "who", "what", "tools", "about", "state", "source")

    schema_version: int = 1
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
    reason: str = ""
    """Why the scenario's author chose another errand, in the author's words; empty where the line was followed."""
