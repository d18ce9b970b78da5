"""What the sandbox is asked for and what it answers: program, steps, observation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from envmill.runtime.world import parse_clock
from schemas.base import Json, digest
from schemas.environment import Call, Environment, Tool

Outcome = Literal["ok", "rejection", "failure"]


@dataclass(frozen=True)
class Program:
    """Code that runs in the jail, and the interface its sessions validate calls against."""

    files: dict[str, str]
    """Path → source text."""
    entry: str
    """`module:Class`."""
    tools: list[Tool]
    """Interface."""

    @classmethod
    def of(cls, environment: Environment) -> "Program":
        return cls(environment.files, environment.entry, environment.tools)

    @cached_property
    def message(self) -> dict[str, Json]:
        """How the program travels; its hash keys the driver's templates."""
        content = {"files": self.files, "entry": self.entry, "tools": [tool.model_dump(mode="json") for tool in self.tools]}
        return {"hash": digest(content), **content}


@dataclass(frozen=True)
class Reset:
    """Construct the program afresh on a state."""

    state: dict[str, Json]
    """Initial state."""
    clock: str
    """Virtual time, ISO 8601 UTC."""
    seed: int
    """Seed of ids and randomness."""

    def __post_init__(self) -> None:
        parse_clock(self.clock)  # a clock that cannot be read is the caller's mistake, not the program's

    def message(self) -> dict[str, Json]:
        return {"op": "reset", "state": self.state, "clock": self.clock, "seed": self.seed}


@dataclass(frozen=True)
class Invoke:
    """Call a tool."""

    call: Call
    """The call."""

    def message(self) -> dict[str, Json]:
        return {"op": "call", "name": self.call.name, "arguments": self.call.arguments, "actor": self.call.actor}


@dataclass(frozen=True)
class Advance:
    """Move the virtual clock."""

    seconds: float
    """By how much."""

    def message(self) -> dict[str, Json]:
        return {"op": "advance", "seconds": self.seconds}


@dataclass(frozen=True)
class Look:
    """Ask for the state."""

    def message(self) -> dict[str, Json]:
        return {"op": "look"}


Step: TypeAlias = Reset | Invoke | Advance | Look


@dataclass(frozen=True)
class Observation:
    """What one step came to. All of it is the program's own claim, decoded, never trusted with more."""

    outcome: Outcome
    """Done, refused (caller's mistake or a rule), or failed (program's fault: crash, timeout, killed, build …)."""
    parts: list[Json]
    """What a tool answered: `{"type": "text", "text": …}` or `{"type": "json", "value": …}`."""
    code: str
    """Reason code, empty when ok."""
    message: str
    """Reason in words, empty when ok."""
    state_hash: str
    """Hash of the state after the step; empty when unknown."""
    state: dict[str, Json] | None
    """The state, for a Look."""

    @classmethod
    def read(cls, message: Mapping[str, Any], state: dict[str, Json] | None) -> "Observation":
        return cls(message["outcome"], message["parts"], message["code"], message["message"], message["state_hash"], state)
