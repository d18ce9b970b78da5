"""The ending of a rollout: everything that a verifier may read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, Protocol

from envmill.language.told import ReplyValues
from envmill.verifiers.diff import SerialisedState
from schemas.base import Json
from schemas.environment import Call
from schemas.scenario import Draft, Fact, Scenario

AGREED = "Yes, please."
"""The user's answer to each question that a reference path asks before a call."""


class CallObservation(Protocol):
    """The observed result of a call. It asks for nothing else of the sandbox, because exports
    contain the judge without a sandbox."""

    @property
    def outcome(self) -> Literal["ok", "rejection", "failure"]: ...
    @property
    def code(self) -> str: ...
    @property
    def parts(self) -> Sequence[Json]: ...


@dataclass(frozen=True)
class CompletedCall:
    """A call and its result."""

    call: Call
    """The call as it was made."""
    outcome: Literal["ok", "rejection", "failure"]
    """Only a call that ended in `ok` had an effect."""
    code: str = ""
    """Reason code, empty when ok."""
    parts: Sequence[Json] = ()
    """The tool's reply."""
    after: int = 0
    """Number of the agent's messages that the user had answered before the call."""

    @cached_property
    def told(self) -> ReplyValues:
        """The values of the reply, as predicates search them."""
        return ReplyValues(self.parts)

    @classmethod
    def of(cls, call: Call, seen: CallObservation) -> "CompletedCall":
        """Combines a call with its observed result."""
        return cls(call, seen.outcome, seen.code, seen.parts)


@dataclass(frozen=True)
class Ending:
    """The states at the start and the end, and the calls and messages between them."""

    initial: Json
    """State at the start."""
    final: Json
    """State at the end."""
    deeds: Sequence[CompletedCall] = ()
    """Calls in the order they were made."""
    said: Sequence[str] = ()
    """The agent's messages to the user, in order."""
    serialised: SerialisedState | None = None
    """Serialised state at the start, for callers that judge many endings of one scenario."""
    ended: Sequence[int] = ()
    """For requests made in turn: the number of messages when each request except the last ended.
    Empty if there was only one request."""
    answers: Sequence[str] | None = ()
    """The user's answer to each message; the last message may have none. None if the answers were
    not recorded."""

    def find_messages(self, fact: Fact) -> Sequence[str]:
        """Messages in which a fact counts. If one of several requests asks for the fact, only the
        messages between this request and the next count."""
        if not fact.asked or not self.ended:
            return self.said
        begins = (0, *self.ended, len(self.said))
        return (
            self.said[begins[fact.asked - 1] : begins[fact.asked]]
            if fact.asked < len(begins)
            else ()
        )

    @staticmethod
    def list_words(path: Draft | Scenario) -> tuple[str, ...]:
        """The agent's words along a reference path: at its end, or at the end of each of its
        requests."""
        return tuple(say for say in ([part.say for part in path.parts] or [path.say]) if say)

    @staticmethod
    def find_ended(path: Draft | Scenario, said: Sequence[str]) -> tuple[int, ...]:
        """`ended` of an ending with as many messages as the reference path. Empty otherwise,
        because it is unknown which message answers which request."""
        counts = list(accumulate(bool(part.say) for part in path.parts))
        return tuple(counts[:-1]) if counts and counts[-1] == len(said) else ()

    @staticmethod
    def ask_along(
        deeds: Sequence[CompletedCall], said: Sequence[str]
    ) -> "tuple[list[CompletedCall], list[str], list[str]]":
        """Adds the questions that a path asks before its calls. Returns the deeds, all messages
        including the last words, and the user's answers, which always agree."""
        asked, made = list[str](), list[CompletedCall]()
        for deed in deeds:
            asked += [deed.call.asks] if deed.call.asks else []
            made.append(replace(deed, after=len(asked)) if asked else deed)
        return made, [*asked, *said], [AGREED] * len(asked)

    def describe(self) -> Json:
        """The calls and messages, in the form that generated checks receive."""
        calls = [
            {
                **deed.call.model_dump(),
                "outcome": deed.outcome,
                "code": deed.code,
                "parts": list(deed.parts),
            }
            for deed in self.deeds
        ]
        return {"calls": calls, "said": list(self.said)}
