"""Lines of an MCP client: each is answered by JSON-RPC or by nothing, and an honest request after
them by what it asks for."""

import json
import os
import threading
from typing import Any, cast

from envmill.kinds.start import CLOCK
from envmill.runtime.jail.client import Session
from envmill.runtime.mcp.connection import McpConnection
from envmill.runtime.mcp.messages import VERSIONS
from envmill.runtime.mcp.offer import Offer
from envmill.runtime.mcp.stdio import serve_lines
from envmill.sandbox import Program
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.runtime.mcp.clients import WHO, make_request
from tests.runtime.mcp.conftest import SOURCE, STATE, TOOLS

BEGIN = make_request(0, "initialize", {"protocolVersion": VERSIONS[-1], **WHO})
MESSAGES: tuple[Any, ...] = (
    BEGIN,
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    make_request("a", "tools/list", {"cursor": "0"}),
    make_request(
        3,
        "tools/call",
        {
            "name": "add",
            "arguments": {"name": "axe", "more": [1, {"a": None}]},
            "_meta": {"progressToken": 1},
        },
    ),
    {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 3, "reason": "x"},
    },
    make_request(4, "ping"),
    make_request(
        5, "server/discover", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    ),
    {"jsonrpc": "2.0", "id": 9, "result": {}},
)
LAST = make_request("the last", "ping")


class Answering:
    """A session that answers at once: what a program does is not tried here."""

    def call(self, name: str, arguments: Any, actor: str = "agent") -> Any:
        json.dumps(arguments, allow_nan=False).encode()
        return {
            "ok": True,
            "outcome": "ok",
            "state_hash": "",
            "parts": [{"type": "json", "value": {"name": name}}],
        }

    def fetch(self, blob: str) -> Any:
        return {"ok": True, "parts": []}

    def close(self) -> None:
        """Nothing is held."""


class McpMessagesTarget(Target):
    """A connection over lines."""

    def __init__(self) -> None:
        program = Program({"program.py": SOURCE}, "program:Yard", TOOLS)
        start: dict[str, Any] = {"initial_state": STATE, "clock": CLOCK, "seed": 7}
        self._offer = Offer("Yard", program.message, start)

    def make(self, mutator: Mutator) -> bytes:
        lines = [json.dumps(BEGIN).encode()] if mutator.rng.random() < 0.7 else []
        for _ in range(mutator.rng.randint(1, 5)):
            message = mutator.rng.choice(MESSAGES)
            message = mutator.change(message, 2) if mutator.rng.random() < 0.8 else message
            lines.append(
                mutator.render([message] * 3 if mutator.rng.random() < 0.05 else message).replace(
                    b"\n", b" "
                )
            )
        return b"\n".join(lines)

    def play(self, content: bytes) -> str:
        source, giver = os.pipe()
        taker, sink = os.pipe()
        whole = content + b"\n" + json.dumps(LAST).encode() + b"\n"
        writing = threading.Thread(target=_write, args=(giver, whole), daemon=True)
        answered = bytearray()
        reading = threading.Thread(target=_read_into, args=(taker, answered), daemon=True)
        writing.start()
        reading.start()
        try:
            serve_lines(
                McpConnection(self._offer, cast(Session, Answering()), whole=True), source, sink
            )
        finally:
            os.close(sink)
            writing.join()
            reading.join()
            os.close(source)
        replies = [json.loads(line) for line in bytes(answered).splitlines()]
        for reply in (
            each for told in replies for each in (told if isinstance(told, list) else [told])
        ):
            if reply.get("jsonrpc") != "2.0" or ("result" in reply) == ("error" in reply):
                raise BrokenPromise(f"an answer that is none: {str(reply)[:200]}")
            if "error" in reply and reply["error"]["code"] == -32603:
                raise BrokenPromise(f"an internal error: {reply['error']['message'][:300]}")
        if not replies or replies[-1].get("id") != LAST["id"]:
            raise BrokenPromise("the honest request at the end was not answered")
        return "answered" if len(replies) > 1 else "passed over"


def _write(into: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(into, rest) :]
    os.close(into)


def _read_into(source: int, answered: bytearray) -> None:
    while chunk := os.read(source, 1 << 16):
        answered += chunk
    os.close(source)


def open_target() -> Target:
    return McpMessagesTarget()
