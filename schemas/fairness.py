"""What maps a verifier to the words that ask for it: the demands in plain sentences, the map, and
scenarios whose truth is known."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract, Json
from schemas.reading import TwoReadings
from schemas.seed import Brief
from schemas.suspicion import SuspicionItem, ToolText


class Demand(Contract):
    """One thing that the verifier asks for."""

    id: str
    text: str
    """A plain sentence; of a machine, the test itself."""


class MapperInput(Contract):
    """A request with all that is demanded of its end. The reference path is left out."""

    brief: Brief
    name: str
    rules: list[str]
    policy: str
    """Policy document that the agent follows."""
    tools: list[ToolText]
    date: str
    """Virtual time at the start."""
    rows: Json
    """Rows of the initial state that the request or a demand names, and the rows most like them."""
    told: list[str]
    """What the simulated user can tell when asked."""
    demands: list[Demand]
    request: str


class DemandSource(Contract):
    """Who asks for one demand."""

    id: str
    """Id of the demand."""
    quote: str
    """Words that ask for it, copied; empty where nothing does."""
    excess: str
    """What the demand asks for beyond that; empty where it asks for no more."""


class Wish(Contract):
    """One thing that the person wishes for."""

    words: str
    """Words of the request."""
    demands: list[str]
    """Ids of the demands that fail when the wish is not met."""


class Hint(Contract):
    """Words that tell the agent how to work."""

    words: str
    """Words of the request."""
    shows: str
    """What they give away: the tool, the internal id, or the steps."""


class MapperReply(Contract):
    """The map between a request and what is demanded of its end."""

    sources: Annotated[list[DemandSource], Field(max_length=80)]
    """One entry for each demand."""
    wishes: Annotated[list[Wish], Field(max_length=40)]
    """Everything that the request wishes for."""
    hints: Annotated[list[Hint], Field(max_length=6)]
    """Words that show the way; mostly none."""
    readings: Annotated[list[TwoReadings], Field(max_length=6)]
    """Real ambiguities; mostly none."""


FairnessCode = Literal["unasked", "unchecked", "shows_way", "two_readings"]


class FairnessCase(Contract):
    """A scenario whose fairness is known."""

    source: str
    """Recorded scenario it was made from, or the domain it was written in."""
    planted: FairnessCode | Literal[""]
    """Reason code of the planted fault; empty where the scenario is honest."""
    truth: str
    """The planted fault in words; empty where the scenario is honest."""
    item: SuspicionItem
    """What the judge is shown."""
    date: str
    demands: list[Demand]


class FairnessFinding(Contract):
    """What the map of one scenario shows, and what the judge says of it."""

    reason: FairnessCode
    question: str
    decision: Literal["confirmed", "unconfirmed", "undecided"]


class FairnessOutcome(Contract):
    """How a mapper and a judge read one scenario whose fairness is known."""

    source: str
    planted: FairnessCode | Literal[""]
    truth: str
    request: str
    reply: MapperReply | None
    """The map; null where no usable one came."""
    findings: list[FairnessFinding]

    @property
    def confirmed(self) -> list[FairnessCode]:
        """What would be sent back."""
        return [one.reason for one in self.findings if one.decision == "confirmed"]
