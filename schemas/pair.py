"""Pair: two ends of one beginning, one that passed and one that failed, for trainers that learn
from a preference."""

from typing import ClassVar

from schemas.base import Json, Record
from schemas.rollout import Form
from schemas.scenario import Split


class Pair(Record):
    """A passed and a failed rollout of one scenario by one policy, cut where they part."""

    table: ClassVar[str] = "pairs"
    prefix: ClassVar[str] = "pair"
    identity: ClassVar[tuple[str, ...]] = ("chosen", "rejected")

    chosen: str
    """Id of the rollout that passed."""
    rejected: str
    """Id of the rollout that failed."""
    scenario: str
    """Scenario id."""
    environment: str
    """Environment id."""
    policy: str
    """Who acted in both."""
    form: Form = "single"
    """Whether everything was asked for at once, or in turns."""
    shared: list[Json]
    """Chat messages that both begin with."""
    better: list[Json]
    """How the one that passed goes on."""
    better_loss: list[bool]
    """Per message of it: whether the policy said it and is compared by it."""
    worse: list[Json]
    """How the one that failed goes on."""
    worse_loss: list[bool]
    """Per message of it: whether the policy said it and is compared by it."""
    tools: list[Json]
    """Interface as the agent saw it."""
    margin: float
    """By how much the rewards differ."""
    split: Split = "train"
    """Split of the scenario."""
    licence: str
    """Licence of the environment."""
