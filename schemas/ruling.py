"""What a model is shown of an end that passed, and the ruling it gives."""

from typing import Literal

from schemas.base import Contract, Json
from schemas.scenario import Change, Fact
from schemas.seed import Brief


class MadeCall(Contract):
    """A call that was made, and what came of it."""

    name: str
    arguments: dict[str, Json]
    actor: str
    outcome: Literal["ok", "rejection", "failure"]
    code: str
    parts: list[Json]
    """What it answered; of a long answer, its beginning."""


class RulingInput(Contract):
    """Rule on one end by what was asked for."""

    brief: Brief
    name: str
    rules: list[str]
    request: str
    calls: list[MadeCall]
    """In the order they were made."""
    changes: list[Change]
    """How the final state differs from the initial one, without columns of which nobody minds the
    value."""
    said: list[str]
    """What the agent told the user."""
    expected: list[Change]
    """What the reference path changed."""
    answer: str
    """Last words of the reference path."""
    facts: list[Fact]
    """What the user had to be told."""


class RulingReply(Contract):
    """A ruling."""

    outcome: Literal["complete", "incomplete", "server_error", "agent_error"]
    reason: str
    """What shows it."""
