"""What stands before a consumer's server that knows no token: a token, whose pages may ask, and how
much is read."""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST = 1_048_576
"""Bytes of a request, and of a message."""


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: Any, token: str = "", setting: str = "", most: int = MOST) -> None:
        self.app, self.token, self.setting, self.most = app, token, setting, most

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        status, why = self._refuse(scope, headers)
        if status:
            # A server without this extension answers 403 to whoever is not let in.
            plain = scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
                "extensions", {}
            )
            await (
                send({"type": "websocket.close"})
                if plain
                else _answer(send, status, why, scope["type"])
            )
            return
        line = _Line(send)
        try:
            await self.app(scope, _bound(receive, self.most), line.send)
        except RuntimeError:
            # Of a client that has vanished OpenEnv's server asks twice to be told so: no fault of
            # anybody's.
            if not line.cut:
                raise

    def _refuse(self, scope: Message, headers: dict[str, str]) -> tuple[int, str]:
        host, origin = _read_host(f"//{headers.get('host', '')}"), headers.get("origin")
        if origin is not None and _read_host(origin) != host:
            return 403, "Pages of another site may not ask this server."
        if self.token:
            probing = scope["type"] == "http" and scope["path"] == "/health"
            if not probing and not hmac.compare_digest(
                headers.get("authorization", "").encode(), f"Bearer {self.token}".encode()
            ):
                return 401, "Send the server's token: Authorization: Bearer TOKEN."
        elif host not in LOOPBACK:
            return (
                403,
                f"Without a token only this machine may ask, and {host!r} is another name. Set "
                f"{self.setting}.",
            )
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.most:
            return 413, f"A request may have {self.most} bytes."
        return 0, ""


class _Line:
    """The way to a client, and whether it is cut."""

    def __init__(self, send: Send) -> None:
        self._send, self.cut = send, False

    async def send(self, message: Message) -> None:
        try:
            await self._send(message)
        except Exception:
            self.cut = True
            raise


def _bound(receive: Receive, most: int) -> Receive:
    """A message that is too long ends the connection."""
    seen = 0

    async def take() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            return {"type": "http.disconnect"} if seen > most else message
        size = len(message.get("text") or message.get("bytes") or "")
        return {"type": "websocket.disconnect", "code": 1009} if size > most else message

    return take


async def _answer(send: Send, status: int, why: str, kind: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    prefix = "websocket.http" if kind == "websocket" else "http"
    await send({"type": f"{prefix}.response.start", "status": status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": body})


def _read_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
