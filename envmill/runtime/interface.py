"""The interface of a program: its tools by name, each with a validator compiled at its first
call."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from envmill.runtime.actors import DEFAULT
from envmill.runtime.schema import Check, check_schema, compile_schema


class ToolEntry(TypedDict):
    """One tool, as it travels."""

    name: str
    description: str
    parameters: dict[str, Any]
    effect: str
    actors: NotRequired[list[str]]
    """Who may call it; the agent alone when nothing is said."""
    sibling: NotRequired[str]
    """Service it belongs to where that is not the program's; nobody who may call it is told."""


class Interface:
    """What may be called, by whom, with which arguments."""

    def __init__(self, tools: Sequence[ToolEntry]) -> None:
        self.tools = {tool["name"]: tool for tool in tools}
        self.allowed = {tool["name"]: frozenset(tool.get("actors") or DEFAULT) for tool in tools}
        self.siblings = {
            tool["name"]: sibling for tool in tools if (sibling := tool.get("sibling"))
        }
        """Tools that are shown and answered here, and not by the program, by the service they
        belong to."""
        self.actors = frozenset(DEFAULT).union(*self.allowed.values())
        """Everybody a tool knows, and the agent."""
        self.checks: dict[str, Check] = {}
        """The validators compiled so far."""

    def check(self, name: str) -> Check:
        """The validator of a tool's arguments."""
        found = self.checks.get(name)
        if found is None:
            found = self.checks[name] = compile_schema(self.tools[name]["parameters"])
        return found

    def compile(self) -> None:
        """Compile every validator, or raise ValueError; a process that forks sessions does it for
        all of them."""
        for name, tool in self.tools.items():
            check_schema(tool["parameters"])
            self.check(name)
