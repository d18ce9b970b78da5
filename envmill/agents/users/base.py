"""What a simulated user is: it hears what was said so far, and answers or stops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from envmill.agents.users.doing import list_deeds
from schemas.environment import Call
from schemas.rollout import Misstep
from schemas.scenario import Scenario, UserContract

UserEnd: TypeAlias = Literal["", "content", "gave_up", "handed_over", "out_of_scope"]


LONGEST = 8_000
"""Characters of a message that anybody hears. The word checks take seconds on more."""


@dataclass(frozen=True)
class Utterance:
    """One thing that was said, as far as anybody hears it."""

    who: Literal["agent", "user"]
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text[:LONGEST])


@dataclass(frozen=True)
class UserAnswer:
    """What the user says to it."""

    text: str
    end: UserEnd = ""
    """Why the user says no more; empty while the conversation goes on."""
    does: tuple[str, ...] = ()
    """Names of what they do with tools of their own, before they say it."""
    meant: tuple[Misstep, ...] = ()
    """What looks like a misstep here and is this user's manner."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text[:LONGEST])


@dataclass(frozen=True)
class UserKnowledge:
    """What a person may speak of."""

    contract: UserContract
    request: str
    """The whole request: what they would have said at once."""
    deeds: Mapping[str, Call] = field(default_factory=dict[str, Call])
    """What only they can do, by the name it is asked for with."""
    manner: str = ""
    """How they talk and act, by name; empty leaves it to the contract."""

    @classmethod
    def of(cls, scenario: Scenario, manner: str = "") -> "UserKnowledge":
        return cls(
            scenario.user, scenario.request, list_deeds(scenario.oracle, scenario.user.able), manner
        )

    @property
    def repeats(self) -> bool:
        """Whether a deed is done again when it is asked for again: where the user may undo one,
        another is no idle wish."""
        return bool(self.contract.able or self.contract.reports)


class Person(Protocol):
    """A simulated user in one conversation."""

    listens: bool
    """Whether an answer has to be awaited from elsewhere."""

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        """The answer to the last line; Outage when nobody can give it."""
        ...
