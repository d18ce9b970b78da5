"""The server over HTTP: whom it serves, how many, how long, and that none of them notices
another."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.bundles.envrun.recording import read_recording
from envmill.runtime.mcp import web
from envmill.runtime.mcp.host import CannotStart, JailHost
from envmill.runtime.mcp.messages import LIMIT, VERSIONS
from envmill.runtime.mcp.serving import read_address, read_token
from envmill.runtime.mcp.web import Server, ServerLimits, make_server, serve_web
from tests.runtime.mcp.clients import REVISION, WHO, Web, make_request

BEGIN = make_request(0, "initialize", {"protocolVersion": REVISION, **WHO})
PING = make_request(1, "ping")


@contextmanager
def serving(
    host: JailHost,
    bounds: ServerLimits = ServerLimits(),  # noqa: B008
    record: Path | None = None,
    place: str = "127.0.0.1",
    token: str = "",
) -> Iterator[Server]:
    server = make_server(host, (place, 0), bounds, record, token)
    thread = threading.Thread(target=serve_web, args=(server,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(host: JailHost) -> Iterator[Server]:
    with serving(host) as opened:
        yield opened


@pytest.fixture
def client(server: Server) -> Iterator[Web]:
    opened = Web(server.url)
    yield opened
    opened.close()


def test_a_client_lists_and_calls(client: Web) -> None:
    assert client.begin()["protocolVersion"] == REVISION
    assert client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})[::2] == (
        202,
        None,
    )
    assert len(client.ask("tools/list")["result"]["tools"]) == 7
    assert client.call("add", {"name": "axe"})["result"]["structuredContent"] == {"count": 2}
    assert client.call("find", {"name": "T9"})["result"]["isError"] is True
    assert client.call("crash", {})["result"]["structuredContent"]["error"]["outcome"] == "failure"
    assert client.ask("resources/list")["error"]["code"] == -32601


def test_sessions_are_apart_and_end_when_told(server: Server, client: Web) -> None:
    other = Web(server.url)
    client.begin()
    other.begin()
    assert client.session != other.session
    client.call("add", {"name": "axe"})
    assert json.loads(other.call("names", {})["result"]["content"][0]["text"]) == ["T1"]
    assert client.send(None, "DELETE")[0] == 200
    assert client.send(PING)[0] == 404
    assert other.ask("ping")["result"] == {}
    other.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param({"content": PING}, 400, id="no session"),
        pytest.param({"content": PING, "Mcp_Session_Id": "guessed"}, 404, id="no such session"),
        pytest.param({"content": None, "verb": "DELETE"}, 400, id="ending none"),
        pytest.param({"content": None, "verb": "GET"}, 405, id="a stream"),
        pytest.param({"content": BEGIN, "path": "/"}, 404, id="another path"),
        pytest.param({"content": BEGIN, "path": "//[/mcp"}, 404, id="a path that is none"),
        pytest.param(
            {"content": BEGIN, "Origin": "http://evil.example"}, 403, id="a page from elsewhere"
        ),
        pytest.param({"content": BEGIN, "Origin": "null"}, 403, id="a page from nowhere"),
        pytest.param({"content": BEGIN, "Origin": "http://[x"}, 403, id="an origin that is none"),
        pytest.param({"content": BEGIN, "Host": "evil.example"}, 403, id="a borrowed name"),
        pytest.param({"content": BEGIN, "Content_Type": "text/plain"}, 415, id="no JSON"),
        pytest.param({"content": BEGIN, "Content_Length": "x"}, 411, id="no length"),
        pytest.param({"content": BEGIN, "Content_Length": str(LIMIT + 1)}, 413, id="too long"),
        pytest.param(
            {"content": BEGIN, "MCP_Protocol_Version": "1999-01-01"}, 400, id="an unknown revision"
        ),
        pytest.param({"content": b"{"}, 400, id="broken"),
        pytest.param({"content": [BEGIN]}, 400, id="several"),
        pytest.param(
            {"content": make_request(1, "initialize", {})}, 200, id="a beginning of no revision"
        ),
    ],
)
def test_what_is_not_served_is_said(client: Web, sent: dict[str, Any], status: int) -> None:
    told, headers, reply = client.send(**sent)
    assert (told, "error" in reply, "Mcp-Session-Id" in headers) == (status, True, False)
    assert reply["error"]["message"]


def test_a_call_does_not_wait_for_an_acknowledgement(client: Web) -> None:
    """Head and body are two writes: with Nagle's algorithm each reply but the first few took 40
    ms."""
    client.begin()
    took = list[float]()
    for _ in range(20):
        start = time.monotonic()
        client.ask("ping")
        took.append(time.monotonic() - start)
    assert min(took[5:]) < 0.03


def test_a_page_of_this_machine_is_served(client: Web) -> None:
    for origin in ("http://localhost:6274", "http://127.0.0.1", "http://[::1]:80"):
        assert client.send(BEGIN, Origin=origin)[0] == 200


def test_the_revision_without_sessions_is_told_what_is_spoken(client: Web) -> None:
    asked = make_request(
        1, "server/discover", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    )
    status, _, reply = client.send(asked, MCP_Protocol_Version="2026-07-28")
    assert (status, reply["id"], reply["error"]["data"]["supported"]) == (400, 1, [*VERSIONS])


def test_no_more_sessions_than_are_allowed_and_none_that_nobody_uses(host: JailHost) -> None:
    with serving(host, ServerLimits(sessions=2)) as bounded:
        one, two, three = (Web(bounded.url) for _ in range(3))
        one.begin()
        two.begin()
        status, _, reply = three.send(BEGIN)
        assert (status, "2 sessions are open" in reply["error"]["message"]) == (503, True)
        bounded.sessions._bounds = ServerLimits(sessions=2, idle=0.0)
        end = time.monotonic() + 60
        while three.send(BEGIN)[0] != 200 and time.monotonic() < end:
            time.sleep(0.2)
        assert one.send(PING)[0] == 404
        for client in (one, two, three):
            client.close()


def test_each_session_has_a_recording_of_its_own(host: JailHost, tmp_path: Path) -> None:
    with serving(host, record=tmp_path / "all") as recorded:
        clients = [Web(recorded.url) for _ in range(3)]
        for place, client in enumerate(clients):
            client.begin()
            for _ in range(place):
                client.call("add", {"name": "axe"})
            client.close()
        kept = {path.stem: len(read_recording(path).moves) for path in (tmp_path / "all").iterdir()}
    assert kept == {client.session: place for place, client in enumerate(clients)}


def test_many_at_once_get_each_their_own(server: Server) -> None:
    counts: list[int] = []

    def play() -> None:
        client = Web(server.url)
        client.begin()
        counts.append(
            [
                client.call("add", {"name": "axe"})["result"]["structuredContent"]["count"]
                for _ in range(5)
            ][-1]
        )
        client.send(None, "DELETE")
        client.close()

    threads = [threading.Thread(target=play) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [6] * 8


def test_nonsense_on_the_socket_ends_nothing(server: Server, client: Web) -> None:
    place = server.server_address[1]
    for sent in (
        b"\x00\xff\n\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"x" * 70_000,
    ):
        with socket.create_connection(("127.0.0.1", place)) as line:
            line.sendall(sent)
    assert client.begin()


@pytest.mark.parametrize("place", ["::1", "0.0.0.0"])
def test_elsewhere_pages_are_refused_as_well(host: JailHost, place: str) -> None:
    try:
        with serving(host, place=place) as server:
            client = Web(server.url)
            assert client.send(BEGIN, Origin="http://evil.example", Host="evil.example")[0] == 403
            assert client.begin()
            client.close()
    except OSError as error:
        pytest.skip(f"this machine has no {place} ({error.strerror})")


def test_an_address_is_read_or_refused() -> None:
    read = [read_address(text) for text in ("8765", ":8765", "0.0.0.0:1", "[::1]:80")]
    assert read == [("127.0.0.1", 8765), ("127.0.0.1", 8765), ("0.0.0.0", 1), ("::1", 80)]
    for wrong in ("localhost", "x:y", "1:99999", ""):
        with pytest.raises(CannotStart, match="Write HOST:PORT"):
            read_address(wrong)


def exchange(server: Server, *lines: str, body: str = "", size: int | None = None) -> bytes:
    """Raw bytes there, and all that comes back until the server closes or is silent."""
    head = (
        ("POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json")
        if not lines[0].startswith("DELETE")
        else ("",)
    )
    told = [line for line in (*head, *lines) if line] + (
        [f"Content-Length: {len(body) if size is None else size}"] if body else []
    )
    with socket.create_connection(server.place, 2) as opened:
        opened.sendall("\r\n".join([*told, "", body]).encode())
        answered = b""
        try:
            while got := opened.recv(65536):
                answered += got
        except TimeoutError:
            pass
    return answered


SMUGGLED = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(json.dumps(BEGIN))}\r\n\r\n{json.dumps(BEGIN)}"
)


def test_the_body_of_a_delete_is_no_request(server: Server, client: Web) -> None:
    client.begin()
    answered = exchange(
        server,
        "DELETE /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"Mcp-Session-Id: {client.session}",
        body=SMUGGLED,
    )
    assert answered.count(b"HTTP/1.1 ") == 1
    assert answered.startswith(b"HTTP/1.1 400")
    assert client.ask("ping")["result"] == {}, "what was refused was carried out"


@pytest.mark.parametrize(
    "twin",
    [
        "Content-Length: 5",
        "Host: evil.example",
        "Mcp-Session-Id: other",
        "Origin: null",
        "Content-Type: text/plain",
        "Content-Length : 9",
    ],
)
def test_of_two_headers_neither_counts(server: Server, twin: str) -> None:
    more = ["Mcp-Session-Id: one", "Origin: http://127.0.0.1", twin]
    answered = exchange(server, *more, body=json.dumps(PING) + SMUGGLED, size=len(json.dumps(PING)))
    assert answered.startswith(b"HTTP/1.1 400")
    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"header" in answered


@pytest.mark.parametrize(
    "line",
    [
        "X: a\rMcp-Session-Id: SESSION",
        "X: a\r\rPOST /mcp HTTP/1.1",
        "X: a\r Y: b",
        "X\r: a",
        "\rX: a",
    ],
    ids=["a header", "a request", "folded", "in a name", "before a name"],
)
def test_a_return_inside_of_a_line_ends_no_header(server: Server, client: Web, line: str) -> None:
    client.begin()
    answered = exchange(server, line.replace("SESSION", client.session), body=json.dumps(PING))
    assert answered.startswith(b"HTTP/1.1 400")
    assert answered.count(b"HTTP/1.1 ") == 1


def test_a_return_in_a_body_is_no_header(client: Web) -> None:
    client.begin()
    assert client.send(json.dumps(PING, indent=1).replace("\n", "\r\n").encode() + b"\r")[0] == 200


@pytest.mark.parametrize(
    "refused",
    ["Origin: null", "Content-Type: text/plain", "Content-Length: 9", "Transfer-Encoding: chunked"],
)
def test_what_follows_a_refused_request_is_not_run(server: Server, refused: str) -> None:
    answered = exchange(
        server, refused, body=json.dumps(PING) + SMUGGLED, size=len(json.dumps(PING))
    )
    assert answered.count(b"HTTP/1.1 ") == 1


def test_a_head_and_its_body_have_a_deadline(
    host: JailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "_PATIENCE", 1.0)
    with serving(host) as patient, socket.create_connection(patient.place, 30) as slow:
        start = time.monotonic()
        with contextlib.suppress(OSError):
            for sign in "POST /mcp HTTP/1.1\r\nX: " + "x" * 100:
                slow.sendall(sign.encode())
                slow.settimeout(0.2)
                try:
                    if not slow.recv(1):
                        break
                except TimeoutError:
                    continue
        assert time.monotonic() - start < 15
        other = Web(patient.url)
        assert other.begin()["protocolVersion"] == REVISION
        other.close()


def test_sockets_that_send_nothing_keep_nobody_out(
    host: JailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "_CONNECTIONS", 8)
    with serving(host) as crowded, contextlib.ExitStack() as stack:
        for _ in range(web._CONNECTIONS + 4):
            held = stack.enter_context(socket.create_connection(crowded.place, 5))
            held.sendall(b"POST /mcp HTTP/1.1\r\nX: ")
        honest = Web(crowded.url)
        assert honest.begin()["protocolVersion"] == REVISION
        honest.close()


@pytest.mark.long
def test_sockets_that_read_no_answer_keep_nobody_out(
    host: JailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "_CONNECTIONS", 8)
    with serving(host) as crowded, contextlib.ExitStack() as stack:
        first = Web(crowded.url)
        first.begin()
        body = json.dumps(make_request("x" * 200_000, "ping")).encode()
        head = (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Mcp-Session-Id: {first.session}\r\n"
        )
        asked = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        first.close()
        for _ in range(12):
            held = stack.enter_context(socket.socket())
            held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            held.settimeout(0.3)
            held.connect(crowded.place)
            with contextlib.suppress(OSError):
                for _ in range(50):
                    held.sendall(asked)
        honest = Web(crowded.url)
        assert honest.begin()["protocolVersion"] == REVISION
        honest.close()


TOKEN = "a-token-of-enough-letters"


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \u00fc"]
)
def test_who_does_not_show_the_token_is_not_served(host: JailHost, shown: str) -> None:
    with serving(host, token=TOKEN) as closed:
        client = Web(closed.url)
        status, headers, _ = client.send(BEGIN, **({"Authorization": shown} if shown else {}))
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert client.send(BEGIN, Authorization=f"Bearer {TOKEN}")[0] == 200
        client.close()


def test_a_token_is_drawn_kept_and_private(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = read_token(path)
    assert (len(token) >= 32, path.stat().st_mode & 0o777, read_token(path)) == (True, 0o600, token)
    path.chmod(0o644)
    with pytest.raises(CannotStart, match="Other users"):
        read_token(path)
    (tmp_path / "short").touch(0o600)
    with pytest.raises(CannotStart, match="no token"):
        read_token(tmp_path / "short")
