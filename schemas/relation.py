"""What is asked about how tools rest on each other, and what is answered."""

from typing import Literal

from schemas.base import Contract


class ToolCard(Contract):
    """A tool in a few lines."""

    name: str
    """Its name."""
    description: str
    """What it does."""
    inputs: list[str]
    """Meaning and type of what it takes."""
    outputs: list[str]
    """Meaning and type of what it gives."""


class RelationInput(Contract):
    """Say how a tool rests on others."""

    tool: ToolCard
    """The later tool."""
    others: list[ToolCard]
    """Tools that may be called before it, and perhaps the tool itself, about which nothing is
    asked."""


class Relation(Contract):
    """One judgement."""

    other: str
    """Name of the earlier tool."""
    label: Literal["strong", "weak", "independent"]
    """How much the tool rests on it."""
    reason: str = ""
    """Why, in one sentence."""


class RelationReply(Contract):
    """A judgement for each of the other tools."""

    relations: list[Relation]
