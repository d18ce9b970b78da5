"""What the vendors will do: which requests meet which fault, and what the model says.

A rule names the requests it is for (`match` in their text, `path` at the start of theirs), how many
of them (`times`, −1 for all) or how often (`rate`), and either a fault or a turn. The first rule
that applies is spent.
"""

import random
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "status",  # an error with the vendor's body, `retry-after` when given
    "html",  # a proxy's page, with `status`
    "hang",  # accepted, never answered
    "close",  # accepted, closed without a byte
    "cut",  # closed in the middle of the body
    "trickle",  # a few bytes at a time
    "empty",  # 200 and no body
    "truncated",  # half the JSON, and the length of that half
    "shapeless",  # valid JSON of another shape
    "delay",  # answered well, after `seconds`
    "silent",  # in a stream: nothing more after the first half
    "event",  # in a stream: an error event after the first pieces
]


QUESTIONS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


@dataclass(frozen=True)
class Fault:
    """One way an answer fails."""

    kind: Kind
    status: int = 0
    retry_after: str = ""
    seconds: float = 0.0
    message: str = "scripted"
    code: str = ""


@dataclass(frozen=True)
class Turn:
    """What the model says; usage of −1 is counted from the text."""

    text: str = ""
    reasoning: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    """(name, arguments as text), so that malformed arguments can be said."""
    stop: Literal["end", "length", "tool", "refusal", "filter"] = "end"
    input: int = -1
    output: int = -1
    cached: int = 0
    cache_write: int = 0
    thought: int = 0
    """Reasoning tokens, part of the output."""
    tokens: tuple[int, ...] = ()
    """Ids of what it sampled, for who asks; made from the text when left out."""


@dataclass
class Rule:
    """One line of the script."""

    match: str = ""
    path: str = ""
    times: int = -1
    rate: float = 1.0
    fault: Fault | None = None
    turn: Turn | None = None

    @classmethod
    def read(cls, spec: dict[str, Any]) -> "Rule":
        fault, turn = spec.pop("fault", None), spec.pop("turn", None)
        if turn:
            turn["tools"] = tuple(tuple(tool) for tool in turn.get("tools", ()))
        return cls(
            **spec, fault=Fault(**fault) if fault else None, turn=Turn(**turn) if turn else None
        )

    def spend(self, path: str, text: str, chance: random.Random) -> bool:
        """Whether it is for this request; then one of its times is gone. Without a path it is for
        questions to a model."""
        here = path.startswith(self.path) if self.path else path in QUESTIONS
        if not self.times or not here or self.match not in text:
            return False
        if self.rate < 1.0 and chance.random() >= self.rate:
            return False
        self.times -= self.times > 0
        return True


@dataclass
class Script:
    """Every rule, in order."""

    rules: list[Rule] = field(default_factory=list[Rule])
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    def fault_of(self, path: str, text: str) -> Fault | None:
        return next(
            (
                rule.fault
                for rule in self.rules
                if rule.fault and rule.spend(path, text, self.chance)
            ),
            None,
        )

    def turn_of(self, path: str, text: str) -> Turn | None:
        return next(
            (rule.turn for rule in self.rules if rule.turn and rule.spend(path, text, self.chance)),
            None,
        )
