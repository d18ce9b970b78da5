"""What is served: an environment, how its sessions begin, and the tools of whoever plays, as MCP
lists them."""

from dataclasses import dataclass, replace
from typing import Any

from envmill.runtime.mcp.messages import PARAMETERS, Message, RpcError

PAGE = 250
"""Tools of one page: few clients ask for a second, and few environments have one."""


USER = "user"
"""Who plays the other side."""


@dataclass(frozen=True)
class UserSide:
    """The user's side of each session, for a client that plays the user."""

    instructions: str
    """Who the user is, and what they know and want; empty where no scenario says it."""
    token: str
    """What every request of such a client shows. An agent does not have it."""


@dataclass(frozen=True)
class Offer:
    """Everything a session is made of; nothing by which it is judged."""

    title: str
    """The environment's, for people."""
    program: Message
    """How it travels to the jail: hash, files, entry, tools."""
    start: Message
    """`initial_state`, `clock` and `seed`."""
    scenario: str = ""
    """Its name, for the recording; empty for the environment's own start."""
    instructions: str = ""
    """The policy document and the time, which a client shows its model."""
    actor: str = "agent"
    """Who the client is."""

    def turn_to(self, side: UserSide) -> "Offer":
        """What the user's client is told and may call, of the same sessions."""
        return replace(self, actor=USER, instructions=side.instructions)

    def list_actors(self) -> list[str]:
        """Everybody who may call something here."""
        return sorted({actor for tool in self.program["tools"] for actor in _list_allowed(tool)})

    def list_tools(self, cursor: Any = None) -> Message:
        """A page of what this actor may call."""
        mine = [tool for tool in self.program["tools"] if self.actor in _list_allowed(tool)]
        begin = _read_cursor(cursor, len(mine))
        page = [_describe(tool) for tool in mine[begin : begin + PAGE]]
        return {
            "tools": page,
            **({"nextCursor": str(begin + PAGE)} if begin + PAGE < len(mine) else {}),
        }


def _list_allowed(tool: Message) -> list[str]:
    return tool.get("actors", ["agent"])


def _read_cursor(cursor: Any, most: int) -> int:
    if cursor is None:
        return 0
    if (
        isinstance(cursor, str)
        and cursor.isascii()
        and cursor.isdigit()
        and 0 < (begin := int(cursor[:9])) < most
    ):
        return begin
    raise RpcError(
        PARAMETERS, f"There is no page {str(cursor)[:40]!r}. Ask without a cursor for the first."
    )


def _describe(tool: Message) -> Message:
    reads = tool["effect"] == "query"
    # What changes may also destroy: an interface does not tell the two apart.
    hints = {"readOnlyHint": reads, "destructiveHint": not reads, "openWorldHint": False}
    return {
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["parameters"],
        "annotations": hints,
    }
