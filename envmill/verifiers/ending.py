"""The ending of a rollout: all that a verifier may look at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, Protocol

from envmill.language.told import ReplyValues
from envmill.verifiers.diff import Spelled
from schemas.base import Json
from schemas.environment import Call
from schemas.scenario import Draft, Fact, Scenario

AGREED = "Yes, please."
"""What the user answers along a reference path to what it asks before a call."""


class CallObservation(Protocol):
    """What was observed of a call. No more is asked of the sandbox: exports carry the judge, and it
    stands without one."""

    @property
    def outcome(self) -> Literal["ok", "rejection", "failure"]: ...
    @property
    def code(self) -> str: ...
    @property
    def parts(self) -> Sequence[Json]: ...


@dataclass(frozen=True)
class CompletedCall:
    """A call that was made, and what came of it."""

    call: Call
    """What was asked for."""
    outcome: Literal["ok", "rejection", "failure"]
    """Only what ended in `ok` happened."""
    code: str = ""
    """Reason code, empty when ok."""
    parts: Sequence[Json] = ()
    """What the tool answered."""
    after: int = 0
    """How many messages of the agent had been answered before it was made."""

    @cached_property
    def told(self) -> ReplyValues:
        """The answer, as predicates ask for it."""
        return ReplyValues(self.parts)

    @classmethod
    def of(cls, call: Call, seen: CallObservation) -> "CompletedCall":
        """A call with what was observed of it."""
        return cls(call, seen.outcome, seen.code, seen.parts)


@dataclass(frozen=True)
class Ending:
    """Two states, and what was done and said between them."""

    initial: Json
    """State at the start."""
    final: Json
    """State at the end."""
    deeds: Sequence[CompletedCall] = ()
    """Calls in the order they were made."""
    said: Sequence[str] = ()
    """What the agent told the user, in order; the last words last."""
    spelled: Spelled | None = None
    """Bytes of the state at the start, for those who judge many endings of one scenario."""
    ended: Sequence[int] = ()
    """Of several requests made in turn: how many messages had been said when each but the last was
    ended. Empty where all was asked at
    once."""
    answers: Sequence[str] | None = ()
    """What the user answered to each message; the last may have none. None where nobody recorded
    it."""

    def find_messages(self, fact: Fact) -> Sequence[str]:
        """Messages in which a fact counts: of one that a request asks for, those before the next
        request was made."""
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
        """What the agent says along a reference path: at its end, or at the end of each of its
        requests."""
        return tuple(say for say in ([part.say for part in path.parts] or [path.say]) if say)

    @staticmethod
    def find_ended(path: Draft | Scenario, said: Sequence[str]) -> tuple[int, ...]:
        """`ended` of an ending in which as much was said as along the reference path. Empty
        elsewhere: which message answers which
        request is not known then."""
        counts = list(accumulate(bool(part.say) for part in path.parts))
        return tuple(counts[:-1]) if counts and counts[-1] == len(said) else ()

    @staticmethod
    def ask_along(
        deeds: Sequence[CompletedCall], said: Sequence[str]
    ) -> "tuple[list[CompletedCall], list[str], list[str]]":
        """Deeds of a path with what it asks before them, all that is said with its last words, and
        the answers: the user agrees."""
        asked, made = list[str](), list[CompletedCall]()
        for deed in deeds:
            asked += [deed.call.asks] if deed.call.asks else []
            made.append(replace(deed, after=len(asked)) if asked else deed)
        return made, [*asked, *said], [AGREED] * len(asked)

    def describe(self) -> Json:
        """What was done and said, as generated checks are shown it."""
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
