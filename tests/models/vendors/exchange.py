"""One HTTP/1.1 exchange as bytes: what was asked, what is answered."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    422: "Unprocessable Entity",
}
_REASONS |= {
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    529: "Overloaded",
}


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def read(self) -> dict[str, Any]:
        """Its JSON object; empty when it holds none."""
        try:
            found = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Answer:
    """A response; pieces are sent one by one as a stream of events."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, value: object, status: int = 200, **headers: str) -> "Answer":
        return cls(json.dumps(value).encode(), status, headers=headers)

    def render_head(self) -> bytes:
        named = {"Content-Type": self.kind, "request-id": "req_loopback", **self.headers}
        named |= (
            {"Transfer-Encoding": "chunked"}
            if self.pieces
            else {"Content-Length": str(len(self.body))}
        )
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Unknown')}",
            *(f"{name}: {value}" for name, value in named.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def render(self) -> bytes:
        return self.render_head() + (
            b"".join(map(chunk, self.pieces)) + b"0\r\n\r\n" if self.pieces else self.body
        )


def chunk(piece: bytes) -> bytes:
    """One piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


async def read_request(reader: asyncio.StreamReader) -> Asked | None:
    """The next request on a connection; None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await _read_body(reader, headers)
    return None if body is None else Asked(method, target.partition("?")[0], headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes | None:
    try:
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
