"""MCP over streamable HTTP: a connection per session id, replies as JSON, and no stream, since
nothing is told unasked.

POST initialize ─► Mcp-Session-Id ─► POST … ─► DELETE, or so long idle
"""

import contextlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from pathlib import Path
from socket import AF_INET, AF_INET6, SHUT_RDWR, SocketIO, socket
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from envmill.runtime.canonical import is_object
from envmill.runtime.jail.client import JailError
from envmill.runtime.mcp.connection import McpConnection, demand_beginning
from envmill.runtime.mcp.host import CannotStart, JailHost
from envmill.runtime.mcp.messages import (
    INTERNAL,
    INVALID,
    LIMIT,
    VERSIONS,
    RpcError,
    find_name,
    make_error,
    read,
    render,
)
from envmill.runtime.mcp.offer import UserSide

PATH = "/mcp"
USER_PATH = f"{PATH}/user"
"""Of a user's client, alone or with the id of the session that it joins behind it."""
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_CONNECTIONS = 256
"""Sockets served at once, one thread each."""
_PATIENCE = 60.0
"""Seconds from one answer to the end of the next request, however it comes in."""
_SINGLE = (
    "Authorization",
    "Content-Length",
    "Content-Type",
    "Host",
    "MCP-Protocol-Version",
    "Mcp-Session-Id",
    "Origin",
    "Transfer-Encoding",
)
"""Headers of which a second one is refused: a proxy may have read the other."""


@dataclass(frozen=True)
class ServerLimits:
    """How much is held for clients."""

    sessions: int = 64
    """Open at once."""
    idle: float = 1800.0
    """Seconds without a request after which a session ends."""


class RequestRefused(Exception):
    """A request that is answered by its status."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class McpSessions:
    """Connections by their session id."""

    def __init__(self, host: JailHost, bounds: ServerLimits, record: Path | None) -> None:
        self._host, self._bounds, self._record = host, bounds, record
        self._turn = threading.Lock()
        self._open: dict[str, McpConnection] = {}
        self._last: dict[str, float] = {}
        self._users: dict[str, tuple[str, McpConnection]] = {}
        """Connections of users, each with the session that it joined."""

    def join(self, session: str, side: UserSide) -> tuple[str, McpConnection]:
        """A user's connection: to a session by its id, or to the oldest one that has no user."""
        with self._turn:
            taken = {agent for agent, _ in self._users.values()}
            meant = session or next((one for one in self._open if one not in taken), "")
            if meant not in self._open:
                raise RequestRefused(404, "No session waits for its user. The agent begins first.")
            if meant in taken:
                raise RequestRefused(409, "This session has a user. It has room for one.")
            name = secrets.token_hex(16)
            connection = self._open[meant].join(self._host.offer.turn_to(side))
            self._users[name] = meant, connection
        return name, connection

    def find_user(self, name: str | None) -> McpConnection:
        """The user's connection that a request belongs to. It keeps its session awake."""
        if not name:
            raise RequestRefused(400, "The header Mcp-Session-Id is missing: initialize gives it.")
        with self._turn:
            if name not in self._users:
                raise RequestRefused(404, "There is no such user's connection, or no more.")
            session, connection = self._users[name]
            self._last[session] = time.monotonic()
            return connection

    def leave(self, name: str | None) -> None:
        """The user's client goes: its session goes on, and another may join it."""
        self.find_user(name)
        with self._turn:
            self._users.pop(name or "", None)

    def _part(self, sessions: Collection[str]) -> None:
        """Whoever joined these has nothing left to play in."""
        self._users = {
            name: joined for name, joined in self._users.items() if joined[0] not in sessions
        }

    def open(self) -> tuple[str, McpConnection]:
        """A new one; Refusal when there are too many."""
        name = secrets.token_hex(16)
        with self._turn:
            if len(self._last) >= self._bounds.sessions:
                raise RequestRefused(
                    503,
                    f"{self._bounds.sessions} sessions are open, and no more may be. End one by "
                    "DELETE, or try again later.",
                )
            # Its place is taken before it is made: making it takes a while.
            self._last[name] = time.monotonic()
        try:
            connection = self._host.open(self._record / f"{name}.jsonl" if self._record else None)
        except BaseException:
            with self._turn:
                del self._last[name]
            raise
        with self._turn:
            self._open[name] = connection
        return name, connection

    def find(self, name: str | None) -> McpConnection:
        """The one a request belongs to."""
        if not name:
            raise RequestRefused(400, "The header Mcp-Session-Id is missing: initialize gives it.")
        with self._turn:
            if name not in self._open:
                raise RequestRefused(
                    404, "There is no such session, or no more. Begin another with initialize."
                )
            self._last[name] = time.monotonic()
            return self._open[name]

    def end(self, name: str | None) -> None:
        connection = self.find(name)
        with self._turn:
            self._open.pop(name or "", None)
            self._last.pop(name or "", None)
            self._part([name or ""])
        connection.close()

    def end_idle(self) -> None:
        """Those nobody has asked anything for so long."""
        due = time.monotonic() - self._bounds.idle
        with self._turn:
            over = [name for name in self._open if self._last[name] < due]
            ended = [self._open.pop(name) for name in over]
            for name in over:
                del self._last[name]
            self._part(over)
        for connection in ended:
            connection.close()

    def end_all(self) -> None:
        with self._turn:
            ended = [*self._open.values()]
            self._open.clear()
            self._last.clear()
            self._users.clear()
        for connection in ended:
            connection.close()


class Server(ThreadingHTTPServer):
    """Serves in the thread that calls `serve_forever`, with a thread per socket."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        sessions: McpSessions,
        token: str,
        user: UserSide | None = None,
    ) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        self.sessions = sessions
        self.named, self.token, self.user = address[0], token, user
        self._turn = threading.Lock()
        self._awaited: dict[socket, float] = {}
        """Sockets without a whole request, or with an answer to read: the oldest first, and when
        their time is over."""
        self._room = threading.BoundedSemaphore(_CONNECTIONS)
        super().__init__(address, Handler)

    @property
    def place(self) -> tuple[str, int]:
        """Address and port."""
        return str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        name, port = self.place
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{PATH}"

    def server_bind(self) -> None:
        """Without asking around for this machine's full name, which takes its time where nobody
        answers."""
        TCPServer.server_bind(self)

    def service_actions(self) -> None:
        """Twice a second."""
        self.sessions.end_idle()
        now = time.monotonic()
        with self._turn:
            late = [waiting for waiting, due in self._awaited.items() if due < now]
        for waiting in late:
            self._drop(waiting)

    def begin_waiting(self, request: socket) -> None:
        """A socket has no request, or was sent an answer."""
        with self._turn:
            self._awaited[request] = time.monotonic() + _PATIENCE

    def end_waiting(self, request: socket) -> None:
        """A socket has a whole request, or is gone."""
        with self._turn:
            self._awaited.pop(request, None)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False) or (
            self._drop_oldest() and self._room.acquire(timeout=1)
        ):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _drop_oldest(self) -> bool:
        """Make room: those who only hold a place must not keep others out."""
        with self._turn:
            oldest = next(iter(self._awaited), None)
        if oldest:
            self._drop(oldest)
        return oldest is not None

    def _drop(self, waiting: socket) -> None:
        self.end_waiting(waiting)
        with contextlib.suppress(OSError):
            waiting.shutdown(SHUT_RDWR)

    def process_request_thread(
        self, request: "socket | tuple[bytes, socket]", client_address: Any
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.end_waiting(request)  # pyright: ignore[reportArgumentType]
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is no news."""


class HeadReader(BufferedReader):
    """Reads a request, and notes a carriage return inside of a line: Python ends a header there,
    and a proxy may not."""

    odd = False

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(-1 if size is None else size)
        self.odd = self.odd or b"\r" in line[:-2]
        return line


class Handler(BaseHTTPRequestHandler):
    """One socket's requests."""

    protocol_version = "HTTP/1.1"
    # head and body are two writes: a client that delays its acknowledgement would cost 40 ms a call
    disable_nagle_algorithm = True
    timeout = _PATIENCE
    asked: Any = None
    """The id of the request under way."""
    side: UserSide | None = None
    """Whether it is a user's; None for the agent's."""
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = HeadReader(SocketIO(self.connection, "r"))

    def handle_one_request(self) -> None:
        self.server.begin_waiting(self.connection)
        super().handle_one_request()

    def do_POST(self) -> None:
        self._serve(self._post)

    def do_DELETE(self) -> None:
        self._serve(self._delete)

    def do_GET(self) -> None:
        self._serve(self._get)

    def log_message(self, format: str, *args: Any) -> None:
        """Not a word: what clients do is in the recording."""

    def _serve(self, serve: Callable[[], None]) -> None:
        self.asked = None
        try:
            self._check_head()
            self._check_sender()
            path = _read_path(self.path)
            self.side = self.server.user if _is_users(path) else None
            self._check_token(self.side.token if self.side else self.server.token)
            if path != PATH and self.side is None:
                raise RequestRefused(404, f"There is nothing but {PATH} here.")
            serve()
            return
        except RequestRefused as refusal:
            status, fault, headers = (
                refusal.status,
                RpcError(INVALID, refusal.message),
                refusal.headers,
            )
        except (CannotStart, JailError) as error:
            status, fault, headers = 500, RpcError(INTERNAL, str(error)), dict[str, str]()
        # What was refused may not have been read.
        self.close_connection = True
        self._send(status, make_error(self.asked, fault), {"Connection": "close", **headers})

    def _post(self) -> None:
        payload = self._read_body()
        self.server.end_waiting(self.connection)
        try:
            content = read(payload)
        except RpcError as fault:
            self._send(400, make_error(None, fault))
            return
        self.asked = find_name(content)
        begins = is_object(content) and content.get("method") == "initialize"
        if is_object(content) and not begins and not self.headers["Mcp-Session-Id"]:
            self._send(400, make_error(self.asked, demand_beginning(content)))
            return
        self._check_revision()
        name, connection = self._begin() if begins else ("", self._find())
        connection.expect(content)
        reply = connection.answer(content)
        if begins and (reply is None or "error" in reply):
            self._end(name)
            name = ""
        self._send(202 if reply is None else 200, reply, {"Mcp-Session-Id": name} if name else {})

    def _delete(self) -> None:
        if self.headers["Content-Length"] not in (None, "0") or self.headers["Transfer-Encoding"]:
            # Left unread it would be the next request.
            raise RequestRefused(400, "DELETE has no body.")
        self._end(self.headers["Mcp-Session-Id"])
        self._send(200, None)

    def _begin(self) -> tuple[str, McpConnection]:
        """A session of the agent's, or the user's place in one."""
        if self.side is None:
            return self.server.sessions.open()
        return self.server.sessions.join(
            _read_path(self.path)[len(USER_PATH) :].strip("/"), self.side
        )

    def _find(self) -> McpConnection:
        sessions, name = self.server.sessions, self.headers["Mcp-Session-Id"]
        return sessions.find(name) if self.side is None else sessions.find_user(name)

    def _end(self, name: str | None) -> None:
        sessions = self.server.sessions
        sessions.end(name) if self.side is None else sessions.leave(name)

    def _get(self) -> None:
        raise RequestRefused(
            405,
            "Nothing is told unasked here, so there is no stream. POST your messages.",
            {"Allow": "POST, DELETE"},
        )

    def _check_head(self) -> None:
        """What two readers could read in two ways is not read at all."""
        twins = [name for name in _SINGLE if len(self.headers.get_all(name, [])) > 1]
        if twins or self.headers.defects or getattr(self.rfile, "odd", False):
            raise RequestRefused(
                400, f"Send one header {twins[0]}." if twins else "A line of the head is no header."
            )

    def _check_token(self, token: str) -> None:
        if not token:
            return
        scheme, _, shown = (self.headers["Authorization"] or "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            shown.strip().encode(), token.encode()
        ):
            raise RequestRefused(
                401,
                "Show the token of this server: Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )

    def _check_sender(self) -> None:
        """A page in a browser may not reach through to this machine: neither from its own address
        nor under a borrowed name."""
        own = _LOOPBACK | {self.server.named}
        origin = self.headers["Origin"]
        if origin is not None and _read_host(origin) not in own:
            raise RequestRefused(403, "Pages from elsewhere are not served.")
        if self.server.named in _LOOPBACK and _read_host(f"//{self.headers['Host']}") not in own:
            raise RequestRefused(403, "This server answers to the names of this machine alone.")

    def _check_revision(self) -> None:
        asked = self.headers["MCP-Protocol-Version"]
        if asked and asked not in VERSIONS:
            raise RequestRefused(
                400, f"Revision {asked[:40]!r} is not spoken here; known: {', '.join(VERSIONS)}."
            )

    def _read_body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            raise RequestRefused(415, "Send application/json.")
        size = self.headers["Content-Length"] or ""
        if not (size.isascii() and size.isdigit()) or self.headers["Transfer-Encoding"]:
            raise RequestRefused(411, "Say how long the message is, in Content-Length.")
        if len(size) > 12 or int(size) > LIMIT:
            raise RequestRefused(413, f"A message has at most {LIMIT} bytes.")
        return self.rfile.read(int(size))

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        payload = b"" if content is None else render(content)
        self.send_response_only(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(payload)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        # Who does not read the answer holds a place as well.
        self.server.begin_waiting(self.connection)
        self.end_headers()
        self.wfile.write(payload)


def make_server(
    host: JailHost,
    address: tuple[str, int],
    bounds: ServerLimits,
    record: Path | None = None,
    token: str = "",
    user: UserSide | None = None,
) -> Server:
    """A server that listens, and serves nobody yet; OSError when it cannot listen there. A token
    must be shown with every request."""
    return Server(address, McpSessions(host, bounds, record), token, user)


def serve_web(server: Server) -> None:
    """Until it is interrupted. Every session ends with it."""
    try:
        server.serve_forever()
    finally:
        server.server_close()
        server.sessions.end_all()


def _is_users(path: str) -> bool:
    return path == USER_PATH or path.startswith(f"{USER_PATH}/")


def _read_path(target: str) -> str:
    try:
        return urlsplit(target).path
    except ValueError:
        return ""


def _read_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
