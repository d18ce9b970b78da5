"""A client of MCP by the official SDK, run by an interpreter that has one: plays what it is told,
and writes what it saw as JSON.

official.py  <  {"url" or "command" and "cwd", "mode", "sessions": [[[name, arguments], …], …]}
"""

import asyncio
import json
import sys
from typing import Any

import mcp  # pyright: ignore[reportMissingImports]


async def play(told: dict[str, Any], calls: list[Any]) -> dict[str, Any]:
    return await (play_new if hasattr(mcp, "Client") else play_old)(told, calls)


async def play_new(told: dict[str, Any], calls: list[Any]) -> dict[str, Any]:
    """By the second major line."""
    server: Any = (
        told["url"]
        if "url" in told
        else mcp.StdioServerParameters(
            command=told["command"][0], args=told["command"][1:], cwd=told["cwd"]
        )
    )
    async with mcp.Client(server, mode=told["mode"]) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return {
            "revision": client.protocol_version,
            "tools": tools,
            "seen": [[one.is_error, one.content[0].text] for one in results],
        }


async def play_old(told: dict[str, Any], calls: list[Any]) -> dict[str, Any]:
    """By the first."""
    from mcp.client.stdio import stdio_client  # pyright: ignore[reportMissingImports]
    from mcp.client.streamable_http import streamablehttp_client  # pyright: ignore[reportMissingImports]

    if "url" in told:
        line = streamablehttp_client(told["url"])
    else:
        line = stdio_client(
            mcp.StdioServerParameters(
                command=told["command"][0], args=told["command"][1:], cwd=told["cwd"]
            )
        )
    async with line as (read, write, *_), mcp.ClientSession(read, write) as client:
        began = await client.initialize()
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return {
            "revision": began.protocolVersion,
            "tools": tools,
            "seen": [[one.isError, one.content[0].text] for one in results],
        }


async def main() -> None:
    told = json.load(sys.stdin)
    # At once: two sessions that are not apart would show.
    played = await asyncio.gather(*(play(told, calls) for calls in told["sessions"]))
    sys.stdout.write(json.dumps({"played": played}))


asyncio.run(main())
