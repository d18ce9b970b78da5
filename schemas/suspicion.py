"""What a judge reads about a suspicion, the reading it gives, and how often a judge is right."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract, Json
from schemas.seed import Brief


class ToolText(Contract):
    """A tool as an agent sees it."""

    name: str
    description: str
    parameters: Json
    """JSON schema of its arguments, with their descriptions."""


class SuspicionItem(Contract):
    """The item a question is about. Parts that an environment or a scenario does not have are
    empty."""

    brief: Brief
    name: str
    rules: list[str]
    policy: str
    """Policy document that the agent follows."""
    tools: list[ToolText]
    request: str
    """What the agent is asked to do."""
    told: list[str]
    """What the simulated user can tell when asked."""
    path: Json
    """Reference path: calls with their arguments, and the last words."""
    rows: Json
    """Rows of the initial state that the path or the question names, and the rows most like
    them."""
    witness: Json
    """Calls that were made, with what came of them."""


class SuspicionInput(SuspicionItem):
    """Answer one question about one item."""

    question: str
    doubt: Literal["yes", "no"]
    """What to answer when in doubt: the two readings of a question get opposite defaults."""


class SuspicionReply(Contract):
    """One reading."""

    answer: Literal["yes", "no"]
    quotes: Annotated[list[str], Field(min_length=1, max_length=8)]
    """Words of the item that the answer rests on, letter for letter."""
    reason: str
    """How they show it."""


class SuspicionCase(Contract):
    """A text whose truth is known: with a planted fault, or honest."""

    gate: str
    reason: str
    """Reason code that the case calibrates."""
    planted: bool
    """Whether the right answer is yes."""
    item: SuspicionItem
    question: str


class JudgeCalibration(Contract):
    """How one judge answered cases of one reason code."""

    gate: str
    """Gate; `*` for every gate, with the embedded judge only."""
    reason: str
    """Reason code; `*` for every code, with the embedded judge only."""
    model: str
    """Judge as its server calls it; `offline` for the embedded judge."""
    prompt_hash: str
    """Prompt that was asked: another prompt is another judge. Empty with the embedded judge."""
    planted: int
    """Cases with a planted fault."""
    caught: int
    """Planted cases that both readings confirmed."""
    honest: int
    """Cases without a fault."""
    kept: int
    """Honest cases that the judge did not confirm."""
