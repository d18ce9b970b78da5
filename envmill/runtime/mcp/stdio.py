"""MCP over standard input and output: one message a line, one client, one session, gone with the
client.

reader thread: line ─► message ─► queue ──main thread──► reply ─► line
"""

import os
import queue
import threading
from collections.abc import Iterator
from typing import Any

from envmill.runtime.mcp.connection import McpConnection
from envmill.runtime.mcp.messages import INVALID, LIMIT, RpcError, make_error, read, render

_CHUNK = 1 << 16
_AHEAD = 64
"""Messages read before they are answered. A cancellation behind more of them comes too late."""


def serve_lines(connection: McpConnection, source: int, sink: int) -> None:
    """Until the input ends or nobody reads the output. Both are descriptors: a buffered file may
    not be left in mid-read."""
    waiting: queue.Queue[tuple[Any, RpcError | None] | None] = queue.Queue(_AHEAD)
    threading.Thread(target=_read_all, args=(connection, source, waiting), daemon=True).start()
    while (got := waiting.get()) is not None:
        content, fault = got
        reply = make_error(None, fault) if fault else connection.answer(content)
        if reply is not None and not _write(sink, render(reply) + b"\n"):
            return


def _read_all(
    connection: McpConnection,
    source: int,
    waiting: "queue.Queue[tuple[Any, RpcError | None] | None]",
) -> None:
    for line in _list_lines(source):
        try:
            if line is None:
                raise RpcError(INVALID, f"A line of more than {LIMIT} bytes was passed over.")
            content = read(line)
        except RpcError as fault:
            waiting.put((None, fault))
            continue
        connection.expect(content)
        waiting.put((content, None))
    waiting.put(None)


def _list_lines(source: int) -> Iterator[bytes | None]:
    """Lines that hold something; None for one that was too long, which is never held whole."""
    held, lost = bytearray(), False
    while chunk := _read(source):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            held += line
            if lost or len(held) > LIMIT:
                yield None
            elif held.strip():
                yield bytes(held)
            held, lost = bytearray(), False
        held += rest
        if len(held) > LIMIT:
            held, lost = bytearray(), True


def _read(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""


def _write(sink: int, line: bytes) -> bool:
    """Whether somebody took it."""
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(sink, rest) :]
    except OSError:
        return False
    return True
