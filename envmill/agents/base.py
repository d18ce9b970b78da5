"""What a policy is: it gets the request and each reply, and answers with a call, with patience, or with its last words."""

from dataclasses import dataclass
from typing import Protocol

from envmill.sandbox import Observation
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


@dataclass(frozen=True)
class Say:
    """Last words to the user; ends the rollout."""

    text: str


@dataclass(frozen=True)
class Wait:
    """Let time pass."""

    seconds: float


class Actor(Protocol):
    """A policy at work on one scenario."""

    def act(self, last: Observation | None) -> Call | Say | Wait:
        """The next move, given the reply to the one before."""
        ...


class Policy(Protocol):
    """Who acts."""

    name: str

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        """Start one attempt."""
        ...
