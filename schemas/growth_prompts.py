"""What the prompts that grow the world around a reference path are given and must answer."""

from pydantic import Field

from schemas.base import Contract, Json
from schemas.calls import WrittenCall
from schemas.environment import Tool
from schemas.rows import Rows
from schemas.seed import Brief


class UnreachedTool(Contract):
    """A tool of which no call succeeded on a scenario's state."""

    tool: Tool
    tried: list[str]
    """Some of the calls that were tried, each with how it ended."""


class GrowInput(Contract):
    """Add records to a scenario, so that more of the tools can be used in its world."""

    brief: Brief
    name: str
    rules: list[str]
    number: int
    request: str
    initial_state: dict[str, Json]
    oracle: list[WrittenCall]
    """The reference path. It must go on to do what it does."""
    unreached: list[UnreachedTool]


class ToolPatch(Contract):
    """What one tool needs to succeed."""

    tool: str
    rows: Rows = {}
    """New records, and no others: table → header and rows."""
    call: WrittenCall | None = None
    """A call of the tool that succeeds on the state with these records."""
    left: str = ""
    """Why the tool has no place in this world; empty where it has."""


class GrowReply(Contract):
    """One entry for each tool that was asked about."""

    patches: list[ToolPatch] = Field(min_length=1)


class AddedTool(Contract):
    """What was added to a scenario's world for one tool."""

    tool: str
    description: str
    call: WrittenCall
    rows: dict[str, dict[str, dict[str, Json]]]


class NaturalInput(Contract):
    """Judge whether what was added to a scenario's world belongs there."""

    brief: Brief
    name: str
    rules: list[str]
    request: str
    added: list[AddedTool]


class NaturalVerdict(Contract):
    """Of one addition."""

    tool: str
    natural: bool
    """Whether such records could stand there, and somebody could want the call."""
    reason: str = ""


class NaturalReply(Contract):
    """A verdict for each addition."""

    verdicts: list[NaturalVerdict]
