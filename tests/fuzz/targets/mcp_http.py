"""Requests to the MCP server over HTTP, as bytes: each is answered or the socket closed, and an
honest client is served all the while."""

import http.client
import json
import socket
import threading
import traceback
from typing import Any, cast

from envmill.runtime.mcp import web
from envmill.runtime.mcp.connection import McpConnection
from envmill.runtime.mcp.host import JailHost
from envmill.runtime.mcp.web import McpSessions, Server, ServerLimits
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.fuzz.targets.mcp_messages import BEGIN, MESSAGES, Answering, McpMessagesTarget

HEADERS: tuple[tuple[str, str], ...] = (
    ("Host", "127.0.0.1"), ("Host", "evil.example"), ("Content-Type", "application/json"), ("Content-Type", "text/plain"),
    ("Mcp-Session-Id", "SESSION"), ("Mcp-Session-Id", "guessed"), ("MCP-Protocol-Version", "2025-11-25"), ("Origin", "http://localhost"),
    ("Origin", "null"), ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Connection", "keep-alive"), ("Expect", "100-continue"),
    ("Accept", "application/json, text/event-stream"), ("Content-Length", "0"), ("Content-Length", "+5"), ("Authorization", "Bearer x"),
    ("X", "y" * 70_000), ("X" * 300, ""),
)  # fmt: skip
_STATUSES = frozenset(
    (200, 202, 400, 401, 403, 404, 405, 411, 413, 414, 415, 431, 500, 501, 503, 505, 100)
)


class Failing(Server):
    """A server that tells what it would keep to itself."""

    failures: list[str]

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.failures.append(traceback.format_exc())


class FakeHost:
    """Connections without a jail."""

    def __init__(self) -> None:
        self._offer = McpMessagesTarget()._offer  # pyright: ignore[reportPrivateUsage]

    def open(self, record: object = None) -> McpConnection:
        return McpConnection(self._offer, cast(Any, Answering()))


class McpHttpTarget(Target):
    """A server on a port of its own, and a session of an honest client."""

    def __init__(self) -> None:
        web._PATIENCE = 2.0  # pyright: ignore[reportPrivateUsage]
        web.Handler.timeout = 2.0
        self._server = Failing(
            ("127.0.0.1", 0),
            McpSessions(cast(JailHost, FakeHost()), ServerLimits(sessions=8, idle=0.5), None),
            "",
        )
        self._server.failures = []
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._honest = http.client.HTTPConnection(*self._server.place, timeout=20)

    def make(self, mutator: Mutator) -> bytes:
        requests = [self._make_request(mutator) for _ in range(mutator.rng.randint(1, 3))]
        whole = b"".join(requests)
        return mutator.damage(whole) if mutator.rng.random() < 0.3 else whole

    def close(self) -> None:
        self._honest.close()
        self._server.shutdown()
        self._server.server_close()
        self._server.sessions.end_all()

    def _make_request(self, mutator: Mutator) -> bytes:
        rng = mutator.rng
        body = (
            mutator.render(mutator.change(rng.choice(MESSAGES), 2))
            if rng.random() < 0.5
            else json.dumps(rng.choice(MESSAGES)).encode()
        )
        verb = rng.choice(
            ["POST", "POST", "POST", "DELETE", "GET", "OPTIONS", "PUT", "", "post", "POST\t"]
        )
        path = rng.choice(
            [
                "/mcp",
                "/mcp",
                "/mcp",
                "/",
                "/mcp/",
                "//mcp",
                "/mcp?x=1",
                "http://127.0.0.1/mcp",
                "*",
                "",
                "/\x00",
                "/" + "a" * 9000,
            ]
        )
        length = rng.choice([len(body)] * 6 + [0, len(body) + 1, max(0, len(body) - 1), 10**13])
        lines = [
            ("Host", "127.0.0.1"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(length)),
        ]
        lines += rng.sample(HEADERS, rng.randrange(4))
        if rng.random() < 0.2:
            lines.pop(rng.randrange(3))
        version = rng.choice(["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "X"])
        ending = rng.choice(["\r\n"] * 8 + ["\n", "\r"])
        head = (
            f"{verb} {path} {version}{ending}"
            + "".join(f"{name}: {value}{ending}" for name, value in lines)
            + ending
        )
        return head.encode("latin-1") + (b"" if rng.random() < 0.1 else body)

    def play(self, content: bytes) -> str:
        answered = self._send(content)
        if self._server.failures and not self._server.failures[-1].rstrip().rpartition("\n")[
            2
        ].startswith(("ConnectionResetError", "BrokenPipeError", "TimeoutError")):
            raise BrokenPromise(self._server.failures[-1])
        self._server.failures.clear()
        statuses = _read_statuses(answered)
        if not _STATUSES.issuperset(statuses):
            raise BrokenPromise(f"a status that is none: {statuses}")
        self._ask_honestly()
        return f"{len(statuses)} answers"

    def _send(self, content: bytes) -> bytes:
        answered = b""
        with socket.create_connection(self._server.place, timeout=20) as client:
            try:
                client.sendall(content)
                client.shutdown(socket.SHUT_WR)
                while chunk := client.recv(1 << 16):
                    answered += chunk
            except OSError:
                # It has said no and closed before all was sent.
                pass
        return answered

    def _ask_honestly(self) -> None:
        try:
            self._honest.request(
                "POST", "/mcp", json.dumps(BEGIN), {"Content-Type": "application/json"}
            )
            reply = self._honest.getresponse()
            told = reply.read()
        except (OSError, http.client.HTTPException):
            self._honest.close()
            self._honest.request(
                "POST", "/mcp", json.dumps(BEGIN), {"Content-Type": "application/json"}
            )
            reply = self._honest.getresponse()
            told = reply.read()
        if reply.status not in (200, 503) or not isinstance(json.loads(told), dict):
            raise BrokenPromise(f"an honest client was told {reply.status}: {told[:200]!r}")
        if session := reply.getheader("Mcp-Session-Id"):
            self._honest.request("DELETE", "/mcp", headers={"Mcp-Session-Id": session})
            self._honest.getresponse().read()


def _read_statuses(answered: bytes) -> list[int]:
    """Of every response; what is no response at all is an answer to HTTP/0.9, which has no head."""
    statuses, rest = list[int](), answered
    while rest.startswith(b"HTTP/1."):
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        statuses.append(int(lines[0].split(" ")[1]))
        length = next(
            (
                int(line.split(":")[1])
                for line in lines
                if line.lower().startswith("content-length:")
            ),
            0,
        )
        rest = rest[length:]
    return statuses


def open_target() -> Target:
    return McpHttpTarget()
