"""Two clients by the official SDK on one session, run by an interpreter that has one: the agent's
and the user's, each with its own credential.

official_sides.py  <  {"url", "users", "token", "calls": [[actor, name, arguments], …]}
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import mcp  # pyright: ignore[reportMissingImports]
from mcp.client import streamable_http  # pyright: ignore[reportMissingImports]


async def open_client(stack: AsyncExitStack, url: str, token: str) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if hasattr(streamable_http, "streamable_http_client"):
        # The second major line brings an HTTP client of its own.
        own = getattr(streamable_http, "httpx2", None) or streamable_http.httpx
        http = await stack.enter_async_context(own.AsyncClient(headers=headers))
        line = streamable_http.streamable_http_client(url, http_client=http)
    else:
        line = streamable_http.streamablehttp_client(url, headers=headers)
    read, write, *_ = await stack.enter_async_context(line)
    client = await stack.enter_async_context(mcp.ClientSession(read, write))
    await client.initialize()
    return client


async def main() -> None:
    told = json.load(sys.stdin)
    async with AsyncExitStack() as stack:
        sides = {
            "agent": await open_client(stack, told["url"], ""),
            "user": await open_client(stack, told["users"], told["token"]),
        }
        failed = list[bool]()
        for actor, name, arguments in told["calls"]:
            result = await sides[actor].call_tool(name, arguments)
            failed.append(bool(getattr(result, "isError", getattr(result, "is_error", False))))
        tools = {
            who: [tool.name for tool in (await side.list_tools()).tools]
            for who, side in sides.items()
        }
    sys.stdout.write(json.dumps({"failed": failed, **tools}))


asyncio.run(main())
