"""A guarded application over real HTTP: it notes what reaches it, and would let any page in, as
Prefect does."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from flows.local.guard import LINKS, LOGIN, Message, Receive, Send, ServerGuard
from flows.local.private import make_headers

AUTH = "envmill:s3cret-of-this-test"
OPEN = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"*"),
    (b"content-type", b"text/html"),
]
BEARER = make_headers(AUTH)


@dataclass
class Reached:
    """What came through, as `GET /path`."""

    asked: list[str] = field(default_factory=list)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            self.asked.append(f"WS {scope['path']}")
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "text": "secret"})
            return
        self.asked.append(f"{scope['method']} {scope['path']}")
        await send({"type": "http.response.start", "status": 200, "headers": OPEN})
        await send({"type": "http.response.body", "body": b"<title>inside</title>secret"})


@dataclass
class Clock:
    """A clock that tests set forward."""

    ahead: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@dataclass
class Guarded:
    """The address, and what reached the application behind the guard."""

    port: int
    reached: Reached
    clock: Clock

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.seen = answer.read().decode()  # type: ignore[attr-defined]
        connection.close()
        return answer

    def send(self, text: str) -> str:
        """Bytes as they are; the first line of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(text.replace("\n", "\r\n").encode())
            return connection.makefile().readline()

    def make_link(self) -> str:
        answer: Any = self.ask("POST", LINKS, BEARER)
        assert answer.status == 200, answer.seen
        return f"{LOGIN}?token={json.loads(answer.seen)['token']}"

    def log_in(self) -> dict[str, str]:
        """A cookie, as a browser would send it from the server's own page."""
        cookie = self.ask("GET", self.make_link()).headers["Set-Cookie"].split(";")[0]
        return {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}


@contextmanager
def guard(*origins: str) -> Iterator[Guarded]:
    """Serve until the block is left."""
    reached, clock = Reached(), Clock()
    app: Any = ServerGuard(reached, AUTH, frozenset(origins), clock)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="off", proxy_headers=False)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until = time.monotonic() + 20
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        try:
            yield Guarded(listener.getsockname()[1], reached, clock)
        finally:
            server.should_exit = True
            thread.join(20)
