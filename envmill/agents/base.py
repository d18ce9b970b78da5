"""What a policy is: it gets the request and each reply, and answers with a call, with patience, or
with words.

scripted   Policy.begin ─► Actor.act(reply) ─► Call | Wait | Say    one move at a time, nothing awaited
any        Speaker.speak(heard) ─► Turn                             a message: words, calls side by side, or time let pass
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from envmill.models.base import Usage
from envmill.sandbox import Observation
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


@dataclass(frozen=True)
class Say:
    """Words: to the user, where they end a single request; or from the user, in a conversation."""

    text: str


@dataclass(frozen=True)
class Wait:
    """Let time pass."""

    seconds: float


Move: TypeAlias = Call | Say | Wait


class Actor(Protocol):
    """A scripted policy at work on one scenario."""

    def act(self, last: Observation | Say | None) -> Move:
        """The next move, given the reply to the one before, or what the user said to it."""
        ...


class Policy(Protocol):
    """Who acts."""

    name: str

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        """Start one attempt."""
        ...


@dataclass(frozen=True)
class MalformedCall:
    """A call whose arguments are no object: it is answered as an error, and never made."""

    name: str
    raw: str
    """As it came."""


@dataclass(frozen=True)
class Turn:
    """One message of an agent."""

    text: str = ""
    """Words; to the user where nothing is called."""
    calls: Sequence[Call | MalformedCall] = ()
    """Calls, side by side."""
    wait: float | None = None
    """Seconds to let pass."""
    reasoning: str = ""
    """Thinking that was shown."""
    cut: bool = False
    """Whether the model ran into its own limit before it said anything usable."""
    usage: Usage = field(default_factory=Usage)
    """What the turn took, when it was first answered."""
    sampled: Json = None
    """`ids` and `logprobs` of its tokens; null where the server gave no ids."""


Event: TypeAlias = Literal["opening", "words", "replies", "time"]


@dataclass(frozen=True)
class TurnInput:
    """What an agent is told before its next turn."""

    event: Event
    text: str = ""
    """What the user says."""
    replies: Sequence[Observation | None] = ()
    """One per call of the turn before, in its order; None for one that could not be read."""
    passed: Observation | None = None
    """What came of a wait."""

    @property
    def notices(self) -> Json:
        """What was told while time passed."""
        return self.passed.notifications if self.passed else []


class Speaker(Protocol):
    """An agent at work on one scenario."""

    listens: bool
    """Whether a turn depends on what tools answer; one that does not is played in one message to
    the jail."""

    async def speak(self, heard: TurnInput) -> Turn:
        """The next message; Outage when nobody can say it."""
        ...


class Scripted:
    """A scripted policy as a speaker: one move a turn."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self.listens: bool = getattr(actor, "listens", True)

    async def speak(self, heard: TurnInput) -> Turn:
        move = self._actor.act(_last(heard))
        if isinstance(move, Say):
            return Turn(move.text)
        return Turn(wait=move.seconds) if isinstance(move, Wait) else Turn(calls=(move,))


def _last(heard: TurnInput) -> Observation | Say | None:
    if heard.event == "words":
        return Say(heard.text)
    return heard.passed if heard.event == "time" else next(iter(heard.replies), None)
