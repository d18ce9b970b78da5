"""A server of chat completions that thinks for so long and then says what stands in a file.

`python -m tests.bench.answering FILE SECONDS` prints its port. `GET /flight` gives the moments at which calls began and ended since it was
last asked.
"""

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


def name_question(prompt: str, talk: Sequence[str] = ()) -> str:
    """Under which a reply stands in the file. What a fresh attempt is told of earlier ones is left
    out of the prompt."""
    text = "\0".join([prompt.split("\n\n## Earlier versions\n")[0].rstrip("\n"), *talk])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _split(messages: list[dict[str, str]]) -> tuple[str, list[str]]:
    first, *talk = (message["content"] for message in messages)
    return first, talk


class Server:
    """Answers, and remembers when."""

    def __init__(self, replies: dict[str, str], seconds: float) -> None:
        self._replies, self._seconds = replies, seconds
        self._flight: list[tuple[float, int]] = []

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept open until the other side closes it."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self._meet_once(reader, writer)
        writer.close()

    async def _meet_once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [
            line
            for line in head.decode().lower().split("\r\n")
            if line.startswith("content-length:")
        ]
        body = await reader.readexactly(int(lengths[0].split(":")[1])) if lengths else b""
        sent = json.dumps(
            self._tell_flight() if head.startswith(b"GET") else await self._answer(body)
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (len(sent), sent)
        )
        await writer.drain()

    async def _answer(self, body: bytes) -> dict[str, Any]:
        self._flight.append((time.monotonic(), 1))
        asked = json.loads(body)
        await asyncio.sleep(self._seconds)
        text = self._replies[name_question(*_split(asked["messages"]))]
        self._flight.append((time.monotonic(), -1))
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [choice],
            "usage": usage,
        }

    def _tell_flight(self) -> list[tuple[float, int]]:
        flight, self._flight = self._flight, []
        return flight


async def serve(file: str, seconds: float) -> None:
    """Until it is stopped."""
    replies = json.loads(await asyncio.to_thread(Path(file).read_text, "utf-8"))
    listening = await asyncio.start_server(
        Server(replies, seconds).meet, "127.0.0.1", 0, limit=2**24
    )
    sys.stdout.write(f"{listening.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], float(sys.argv[2])))
