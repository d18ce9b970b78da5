"""What finds rules that no stored test breaks: tests as they ended, and the calls that are missing
among them."""

from typing import Annotated

from pydantic import Field

from schemas.base import Contract, Json
from schemas.environment import Call
from schemas.suspicion import ToolText


class EndedTest(Contract):
    """A stored test, and how it ended."""

    state: int
    """Number of the initial state that it starts from; 0 where that one is not shown."""
    setup: list[str]
    call: str
    ended: str
    """`ok`, or the code and message of the rejection."""


class CoverageInput(Contract):
    """A program's rules and tools, and its tests."""

    name: str
    rules: list[str]
    """Each with its number in front."""
    tools: list[ToolText]
    states: list[Json]
    """Initial states, the first of them number 1."""
    tests: list[EndedTest]


class MissingTest(Contract):
    """A call that one rule forbids, where no stored test breaks that rule with that tool."""

    rule: int
    """Number of the rule."""
    state: int
    """Number of the initial state that the calls start from."""
    setup: Annotated[list[Call], Field(max_length=12)]
    """Calls before it; each of them succeeds."""
    call: Call
    """The call that breaks this rule and no other."""
    why: str
    """Which records and values make the rule apply."""


class CoverageReply(Contract):
    """What is missing; empty where every rule is broken by some test."""

    missing: Annotated[list[MissingTest], Field(max_length=20)]
