"""A domain that tools propose: which tools belong to it, what tables they speak of, and walks
through them. Nobody has written any code."""

from schemas.base import Contract
from schemas.chain import Chain
from schemas.database import Table
from schemas.sketch import ToolSketch


class Proposal(Contract):
    """What an environment could be made of."""

    name: str
    """Services and things it is about."""
    tools: list[ToolSketch]
    """Its tools, each with the tables it would read and write."""
    tables: list[Table]
    """Tables that these tools speak of."""
    walks: list[Chain]
    """Directed walks, each a seed for a scenario; every one passed the validator."""
    left_out: dict[str, str]
    """Tool or value → why it has no place here."""
    licence: str
    """Licence of its documents; unknown as soon as one is."""


class Outline(Contract):
    """As much of a proposal as one environment is made of, and as short as an author can be told
    it."""

    tools: list[ToolSketch]
    """Its tools: plain inputs and lists of them, the plain values that its document says it
    returns, one sentence on what each does."""
    tables: list[Table]
    """Tables that these tools speak of."""
    walks: list[list[str]]
    """Directed walks, each the names of its tools in order and a seed for scenarios; every one
    passed the validator."""
    left_out: dict[str, str] = {}
    """Tool or value → why it has no place here."""
