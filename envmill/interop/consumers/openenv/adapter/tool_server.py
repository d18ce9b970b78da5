# pyright: basic, reportMissingImports=false
"""The tools of the scenario that runs, as OpenEnv's route `/mcp` reads those of an MCP server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OfferedTool:
    """A tool as OpenEnv's route reads one of an MCP server."""

    name: str
    description: str
    parameters: dict[str, Any]
    fn: Callable[..., Any]


@dataclass(frozen=True)
class ToolServer:
    """As much of an MCP server as OpenEnv's route asks for."""

    tools: list[OfferedTool]

    async def list_tools(self) -> list[OfferedTool]:
        """All of them."""
        return self.tools


def offer_tool(
    tool: dict[str, Any], call: Callable[[str, dict[str, Any]], Awaitable[str]]
) -> OfferedTool:
    """A tool that is called by `call`."""

    async def run(**arguments: Any) -> str:
        return await call(tool["name"], arguments)

    return OfferedTool(tool["name"], tool["description"], tool["parameters"], run)
