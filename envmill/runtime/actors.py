"""Who may call a tool: declared beside its code, read by the interface, enforced before the program
is asked."""

from collections.abc import Callable
from typing import Any, TypeVar

Tool = TypeVar("Tool", bound=Callable[..., Any])

DEFAULT = ("agent",)
"""Who may call a tool that says nothing."""


def discoverable(tool: Tool) -> Tool:
    """Mark a tool that agents are not offered at first: `@discoverable`. The program refuses it
    until it was unlocked."""
    tool.__dict__["discoverable"] = True
    return tool


def actors(*names: str) -> Callable[[Tool], Tool]:
    """Decorate a tool with everybody who may call it: `@actors("agent", "user")`."""

    def mark(tool: Tool) -> Tool:
        tool.__dict__["actors"] = names
        return tool

    return mark
