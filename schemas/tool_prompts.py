"""What the prompts of recipes that begin with tools are given and must answer, beside those that all recipes share."""

from schemas.base import Contract
from schemas.database import Promise
from schemas.environment import ToolPlan
from schemas.seed import Brief


class ToolsetInput(Contract):
    """Think of the tools of a place of work, before there are any tables."""

    brief: Brief
    failed: str = ""
    """The tools that failed, when this is a repair."""
    failure: str = ""
    """What was wrong with them."""
    locked: list[str] = []
    """What a reviewer locked of the version before: it must stay, word for word."""


class PromisedTool(ToolPlan, Promise):
    """A tool, and what it promises."""

    @property
    def plan(self) -> ToolPlan:
        """The tool alone."""
        return ToolPlan(name=self.name, description=self.description, effect=self.effect)

    @property
    def promise(self) -> Promise:
        """Its promise alone."""
        return Promise.model_validate(self.model_dump(include=set(Promise.model_fields)))


class ToolsetReply(Contract):
    """A place of work as its tools."""

    name: str
    summary: str
    rules: list[str]
    tools: list[PromisedTool]
    policy: str = ""
