"""What a blind reader is shown of a scenario, and how it understands the request."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract, Json
from schemas.seed import Brief
from schemas.suspicion import ToolText

Decision = Literal["do", "refuse", "pass_on", "ask"]


class ReaderInput(Contract):
    """All that agent and user can know together at the start. The reference path and the verifier
    are left out."""

    brief: Brief
    name: str
    rules: list[str]
    policy: str
    """Policy document that the agent follows."""
    tools: list[ToolText]
    rows: Json
    """Rows of the initial state: small tables whole, of large ones a part."""
    date: str
    """Virtual time at the start."""
    request: str
    told: list[str]
    """What the simulated user can tell when asked."""


class ReadChange(Contract):
    """One change that the request wants."""

    words: str
    """Words of the request that ask for it."""
    decision: Decision
    """What the agent should do about it."""
    tool: str
    """Tool that makes the change; empty where no tool does."""
    arguments: dict[str, Json]
    """Arguments that are determined, by parameter name. Others are left out."""
    undetermined: list[str]
    """Parameters that need one particular value which nothing determines. A value that the agent
    may choose is not undetermined."""


class ReadAnswer(Contract):
    """One thing that the user is to be told."""

    question: str
    """What the user wants to know, or why a change is not made."""
    answer: str
    """What is right to say."""


class Understanding(Contract):
    """One reading of some words."""

    meaning: str
    """What the words mean in this reading, with the rows by name or key."""
    decision: Decision
    """What the agent should do in this reading."""


class TwoReadings(Contract):
    """Words that two careful colleagues would read differently, with a different result."""

    words: str
    """Words of the request."""
    one: Understanding
    other: Understanding


class ReaderReply(Contract):
    """How the request is understood."""

    changes: Annotated[list[ReadChange], Field(max_length=40)]
    """Every change that the request wants, one entry for each call."""
    answers: Annotated[list[ReadAnswer], Field(max_length=40)]
    """Everything that the user is to be told."""
    readings: Annotated[list[TwoReadings], Field(max_length=6)]
    """Real ambiguities; mostly none."""
