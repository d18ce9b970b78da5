"""The guard before Prefect's application: every request and every WebSocket needs a known Host, no
foreign Origin, and a credential.

    Host is loopback ─► Origin is its own ─► `Authorization`, or a cookie ─► Prefect
    GET  /envmill/login?token=…   trades a one-time token for the cookie of a browser
    POST /envmill/links           makes a one-time token, for those who have the secret

Prefect's own login is not used: its `/api/health` and its pages stay open, and it does not look at
Host or Origin.
"""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from flows.local.private import make_headers

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOGIN, LINKS = "/envmill/login", "/envmill/links"
LINK_SECONDS = 600.0
COOKIE_SECONDS = 24 * 3600
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
_READS = ("GET", "HEAD")
_HEADERS = [
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_LOGGED_IN = (
    '<!doctype html><meta http-equiv="refresh" content="0; '
    'url=/"><title>EnvMill</title><p>Logged in. <a href="/">Go on</a>.'
)
_ASKED = (
    "<!doctype html><title>EnvMill</title><p>This server needs a login. Run <code>envmill "
    "open</code> on its machine, and open the link "
    "that it prints. A link works once, for ten minutes.{why}"
)


@dataclass
class ServerGuard:
    """An ASGI application that lets known callers through to another."""

    app: App
    auth: str
    """`name:password` of a bearer of the secret."""
    origins: frozenset[str] = frozenset()
    """Further origins by which a browser may reach the server, such as `https://mill.example` of a
    proxy."""
    now: Callable[[], float] = time.time
    _links: dict[str, float] = field(default_factory=dict)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            refusal = self._refuse(scope)
            await (
                send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
                if refusal
                else self.app(scope, receive, send)
            )
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if refusal := self._refuse_place(scope):
            await _reply(send, *refusal)
        elif (method, path) == ("GET", LOGIN):
            await self._log_in(scope, send)
        elif refusal := self._refuse_caller(scope):
            await (
                _reply_page(send, 401, _ASKED.format(why=""))
                if _is_navigation(scope)
                else _reply(send, *refusal)
            )
        elif (method, path) == ("POST", LINKS):
            await self._make_link(scope, send)
        else:
            await self.app(scope, receive, _add_headers(send))

    def _refuse(self, scope: Message) -> tuple[int, str] | None:
        return self._refuse_place(scope) or self._refuse_caller(scope)

    def _refuse_place(self, scope: Message) -> tuple[int, str] | None:
        """A page under a foreign name, or of a foreign origin, whatever credential comes with
        it."""
        hosts, origins = _list_headers(scope, b"host"), _list_headers(scope, b"origin")
        own = self._list_own(scope)
        if len(hosts) != 1 or not own:
            return 421, "This server is not known by that name."
        if not scope["path"].startswith("/"):
            return 400, "A path begins with a slash."
        if origins and (len(origins) > 1 or origins[0].lower() not in own):
            return 403, "Pages of other origins may not ask this server."
        return None

    def _list_own(self, scope: Message) -> set[str]:
        """Origins of the server's own pages under the name by which it is asked."""
        host = "".join(_list_headers(scope, b"host")).lower()
        return (
            {f"http://{host}"}
            if _LOOPBACK.fullmatch(host)
            else {origin for origin in self.origins if origin.partition("://")[2] == host}
        )

    def _refuse_caller(self, scope: Message) -> tuple[int, str] | None:
        given = _list_headers(scope, b"authorization")
        if given:
            return (
                None
                if len(given) == 1 and self._is_secret(given[0])
                else (401, "The credential is wrong.")
            )
        if not self._has_cookie(scope):
            return 401, "This server needs a credential: run `envmill open` for a link."
        if not _is_own_page(scope):
            return 403, "Pages of other origins may not ask this server."
        return None

    def _is_secret(self, given: str) -> bool:
        return hmac.compare_digest(
            given.encode(), make_headers(self.auth)["Authorization"].encode()
        )

    @property
    def cookie(self) -> str:
        """Its name: browsers send cookies to every port of a host, so that two homes need two
        names."""
        return f"envmill-{self._sign('name')[:8]}"

    def _has_cookie(self, scope: Message) -> bool:
        pairs = [
            pair.strip().partition("=")
            for line in _list_headers(scope, b"cookie")
            for pair in line.split(";")
        ]
        return any(name == self.cookie and self._is_session(value) for name, _, value in pairs)

    def _is_session(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        known = (
            until.isascii()
            and until.isdigit()
            and hmac.compare_digest(signature.encode(), self._sign(f"session {until}").encode())
        )
        return known and self.now() < int(until)

    def _sign(self, text: str) -> str:
        return hmac.new(self.auth.encode(), text.encode(), hashlib.sha256).hexdigest()

    async def _make_link(self, scope: Message, send: Send) -> None:
        if not _list_headers(scope, b"authorization"):
            await _reply(send, 403, "A cookie makes no links.")
            return
        self._links = {token: until for token, until in self._links.items() if self.now() < until}
        token = secrets.token_urlsafe(32)
        self._links[_digest(token)] = self.now() + LINK_SECONDS
        await _send(send, 200, "application/json", json.dumps({"token": token}))

    async def _log_in(self, scope: Message, send: Send) -> None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self.now() < self._links.pop(_digest(given), 0.0):
            await _reply_page(
                send, 403, _ASKED.format(why=" This link was used before, or is too old.")
            )
            return
        until = int(self.now()) + COOKIE_SECONDS
        value = f"{self.cookie}={until}.{self._sign(f'session {until}')}"
        # Behind TLS it never leaves the browser without: a stranger on the way could ask for a page
        # by http.
        secure = (
            "; Secure"
            if all(origin.startswith("https:") for origin in self._list_own(scope))
            else ""
        )
        cookie = f"{value}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"
        await _reply_page(send, 200, _LOGGED_IN, (b"set-cookie", cookie.encode()))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _list_headers(scope: Message, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _is_own_page(scope: Message) -> bool:
    """Whether a browser's request comes from our own page: a cookie also goes along with requests
    of pages on other ports of this host."""
    if scope["type"] == "websocket" or scope["method"] not in _READS:
        return bool(_list_headers(scope, b"origin"))
    site = _list_headers(scope, b"sec-fetch-site")
    return _is_navigation(scope) or not site or site in (["same-origin"], ["none"])


def _is_navigation(scope: Message) -> bool:
    """A reading that the asking page learns nothing of."""
    return scope["method"] in _READS and _list_headers(scope, b"sec-fetch-dest") == ["document"]


def _add_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return add


async def _reply(send: Send, status: int, why: str) -> None:
    await _send(send, status, "application/json", json.dumps({"detail": why}))


async def _reply_page(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    await _send(send, status, "text/html; charset=utf-8", text, *headers)


async def _send(
    send: Send, status: int, kind: str, text: str, *headers: tuple[bytes, bytes]
) -> None:
    body = text.encode()
    own = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send(
        {"type": "http.response.start", "status": status, "headers": [*own, *_HEADERS, *headers]}
    )
    await send({"type": "http.response.body", "body": body})
