"""Sessions that mean harm: eight clients of four sorts, until they are ended. A process of its own.

python -m tests.bench.loop.hostile URL TOKEN SCENARIO
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

CLIENTS = ("spin", "spin", "hog", "hog", "flood", "flood", "babble", "choke")
"""Endless loops, all the memory, the longest replies, messages of no form, and longest replies that
nobody reads."""
_BABBLE = (
    "{",
    "[]",
    '{"type": "step", "data": {"tool": 3}}',
    '{"type": "rest"}',
    '{"type": "step"}',
    "x" * 500_000,
)


async def attack(url: str, token: str, scenario: str, sort: str) -> None:
    """Again and again."""
    bearer = {"Authorization": f"Bearer {token}"}
    while True:
        with suppress(ConnectionClosed, OSError, TimeoutError, InvalidStatus):
            async with connect(
                url.replace("http", "ws") + "/ws",
                additional_headers=bearer,
                max_queue=1,
                proxy=None,
            ) as socket:
                await ask(socket, {"type": "reset", "data": {"scenario": scenario}})
                await _CONDUCT.get(sort, call)(socket, sort)
        await asyncio.sleep(0.2)


async def call(socket: ClientConnection, sort: str) -> None:
    """Call the tool of that name until the episode ends, then begin again."""
    while not (await ask(socket, {"type": "step", "data": {"tool": sort, "arguments": {}}})).get(
        "done"
    ):
        pass


async def babble(socket: ClientConnection, sort: str) -> None:
    """Say what is no message."""
    while True:
        for text in _BABBLE:
            await socket.send(text)
            await socket.recv()


async def choke(socket: ClientConnection, sort: str) -> None:
    """Ask for much and read nothing."""
    for _ in range(30):
        await socket.send(json.dumps({"type": "step", "data": {"tool": "flood", "arguments": {}}}))
    await asyncio.sleep(30)


async def ask(socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
    await socket.send(json.dumps(message))
    return json.loads(await socket.recv())["data"]


_CONDUCT = {"babble": babble, "choke": choke}


async def main() -> None:
    url, token, scenario = sys.argv[1:4]
    await asyncio.gather(*(attack(url, token, scenario, sort) for sort in CLIENTS))


if __name__ == "__main__":
    asyncio.run(main())
