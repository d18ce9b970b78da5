"""The guard of the server: whom it lets in, and whom it does not, over real HTTP and WebSockets."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from flows.local.guard import COOKIE_SECONDS, LINK_SECONDS, LINKS, Message, ServerGuard
from tests.cli.guarded import AUTH, BEARER, Guarded, Reached, guard

SOCKETS = (
    "/api/events/in",
    "/api/events/out",
    "/api/logs/out",
    "/api/task_runs/subscriptions/scheduled",
)
PATHS = (
    "/",
    "/api/health",
    "/api/ready",
    "/api/admin/version",
    "/ui-settings",
    "/docs",
    "/openapi.json",
    "/assets/index.js",
    "/v2",
)


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    with guard() as served:
        yield served


@pytest.mark.parametrize("path", PATHS)
def test_every_path_asks_for_a_credential(guarded: Guarded, path: str) -> None:
    assert guarded.ask("GET", path).status == 401
    assert guarded.reached.asked == []
    assert guarded.ask("GET", path, BEARER).status == 200
    assert guarded.reached.asked == [f"GET {path}"]


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_asks_for_a_credential(guarded: Guarded, path: str) -> None:
    with pytest.raises(InvalidStatus, match="403"), connect(f"ws://127.0.0.1:{guarded.port}{path}"):
        pass
    assert guarded.reached.asked == []
    with connect(f"ws://127.0.0.1:{guarded.port}{path}", additional_headers=BEARER) as socket:
        assert socket.recv(5) == "secret"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_foreign_page_opens_no_socket_even_with_the_cookie(guarded: Guarded, origin: str) -> None:
    cookie = {"Cookie": guarded.log_in()["Cookie"]}
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://127.0.0.1:{guarded.port}/api/events/out", additional_headers=cookie),
    ):
        pass  # no browser sends a cookie with a socket and no origin
    foreign: Any = {"additional_headers": cookie, "origin": origin}
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://127.0.0.1:{guarded.port}/api/events/out", **foreign),
    ):
        pass
    own: Any = {"additional_headers": cookie, "origin": guarded.url}
    with connect(f"ws://127.0.0.1:{guarded.port}/api/events/out", **own) as socket:
        assert socket.recv(5) == "secret"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1@evil.example",
        "127.0.0.2",
        "",
    ],
)
def test_a_foreign_host_is_refused_with_any_credential(guarded: Guarded, host: str) -> None:
    assert guarded.ask("GET", "/api/health", {**BEARER, "Host": host}).status in (400, 421)
    assert guarded.ask("GET", "/api/health", {**guarded.log_in(), "Host": host}).status in (
        400,
        421,
    )
    assert guarded.reached.asked == []


@pytest.mark.parametrize("host", ["localhost:4270", "LOCALHOST", "[::1]:8080", "127.0.0.1"])
def test_a_forwarded_port_is_no_foreign_host(guarded: Guarded, host: str) -> None:
    assert (
        guarded.ask("GET", "/", {**BEARER, "Host": host, "Origin": f"http://{host.lower()}"}).status
        == 200
    )


SMUGGLED = {
    "absolute-form": "GET http://127.0.0.1/api/health HTTP/1.1\nHost: evil.example\nAuthorization: {auth}\n\n",
    "absolute-form of another": "GET http://evil.example/api/health HTTP/1.1\nHost: 127.0.0.1\nAuthorization: {auth}\n\n",
    "two hosts": "GET /api/health HTTP/1.1\nHost: 127.0.0.1\nHost: evil.example\nAuthorization: {auth}\n\n",
    "no host": "GET /api/health HTTP/1.0\nAuthorization: {auth}\n\n",
    "two credentials": "GET /api/health HTTP/1.1\nHost: 127.0.0.1\nAuthorization: {auth}\nAuthorization: Basic "
    "eDp5\n\n",
    "two origins": "GET / HTTP/1.1\nHost: 127.0.0.1\nOrigin: http://127.0.0.1\nOrigin: http://evil.example\n"
    "Authorization: {auth}\n\n",
    "forwarded host": "GET / HTTP/1.1\nHost: evil.example\nX-Forwarded-Host: 127.0.0.1\nAuthorization: {auth}\n"
    "\n",
}


@pytest.mark.parametrize("text", SMUGGLED.values(), ids=SMUGGLED)
def test_headers_that_contradict_each_other_are_refused(guarded: Guarded, text: str) -> None:
    assert guarded.send(text.format(auth=BEARER["Authorization"])).split()[1][0] == "4"
    assert guarded.reached.asked == []


WITHOUT = "GET /api/without HTTP/1.1\nHost: 127.0.0.1\n\n"
HIDDEN = {
    "a body that is a request": "Content-Length: {length}\n\n",
    "two lengths": "Content-Length: 0\nContent-Length: {length}\n\n",
    "a length in a list": "Content-Length: 0, {length}\n\n",
    "a length beside chunks": "Content-Length: {length}\nTransfer-Encoding: chunked\n\n0\n\n",
    "an unknown encoding": "Content-Length: 0\nTransfer-Encoding: cow\n\n",
    "an encoding in two words": "Transfer-Encoding: chunked, identity\n\n0\n\n",
    "a folded header": "X-A: b\n Content-Length: 0\n\n",
    "a request behind the first": "Content-Length: 0\n\n",
}


@pytest.mark.parametrize("headers", HIDDEN.values(), ids=HIDDEN)
def test_a_request_hidden_in_another_does_not_use_its_credential(
    guarded: Guarded, headers: str
) -> None:
    first = (
        f"POST /api/first HTTP/1.1\nHost: 127.0.0.1\nAuthorization: {BEARER['Authorization']}\n"
        f"{headers.format(length=len(WITHOUT) + 3)}"
    )
    guarded.send(first + WITHOUT)
    assert guarded.ask("GET", "/api/after", BEARER).status == 200, "the server goes on"
    assert set(guarded.reached.asked) <= {"POST /api/first", "GET /api/after"}


@pytest.mark.parametrize(
    "host", ["Host: 127.0.0.1\n evil.example", "Host: evil.example\n 127.0.0.1", "Host : 127.0.0.1"]
)
def test_a_host_on_two_lines_is_refused(guarded: Guarded, host: str) -> None:
    line = guarded.send(
        f"GET /api/health HTTP/1.1\n{host}\nAuthorization: {BEARER['Authorization']}\n\n"
    )
    assert line.split()[1] in ("400", "421")
    assert guarded.reached.asked == []


@pytest.mark.parametrize(
    "given", ["{known}, {known}", "{known} {known}", "{known},Basic eDp5", "Basic eDp5, {known}"]
)
def test_two_credentials_in_one_header_are_none(guarded: Guarded, given: str) -> None:
    assert (
        guarded.ask(
            "GET", "/api/health", {"Authorization": given.format(known=BEARER["Authorization"])}
        ).status
        == 401
    )
    assert guarded.reached.asked == []


@pytest.mark.parametrize(
    "path",
    [
        "//api/events/out",
        "/api/events/out?Authorization={known}",
        "/api/events/out?token={known}",
        "/api//logs/out",
    ],
)
@pytest.mark.parametrize("protocols", [[], ["prefect"], ["Authorization", "basic"]])
def test_a_socket_shows_its_credential_in_the_header_alone(
    guarded: Guarded, path: str, protocols: list[str]
) -> None:
    known = BEARER["Authorization"].replace(" ", "%20")
    offered: Any = {"subprotocols": protocols or None}
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(f"ws://127.0.0.1:{guarded.port}{path.format(known=known)}", **offered),
    ):
        pass
    assert guarded.reached.asked == []


@pytest.mark.parametrize(
    "path",
    [
        "/envmill/login/",
        "/envmill//login",
        "/ENVMILL/LOGIN",
        "/envmill/%6cogin",
        "/envmill/login;x",
        "/envmill/links",
        "/envmill/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT"])
def test_no_spelling_of_the_login_lets_a_stranger_in(
    guarded: Guarded, method: str, path: str
) -> None:
    answer = guarded.ask(method, f"{path}?token=")
    assert answer.status in (401, 403)
    assert answer.headers["Set-Cookie"] is None
    assert guarded.reached.asked == []


@pytest.mark.parametrize(
    "path",
    [
        "//api/health", "/%2e%2e/api/health", "/envmill/login/../../api/health", "/envmill/login%2f..%2f", "/api/health;x", "/api/health/",
        "/API/HEALTH", "/docs/", "/metrics", "/api/metrics", "/openapi.json?x", "/./docs",
    ],
)  # fmt: skip
def test_no_spelling_of_a_path_goes_round_the_guard(guarded: Guarded, path: str) -> None:
    assert guarded.ask("GET", path).status == 401
    assert guarded.reached.asked == []


async def test_two_hosts_are_refused_where_the_server_lets_them_through() -> None:
    """h11 refuses them first; another parser would not."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {}

    headers = [(name.lower().encode(), value.encode()) for name, value in BEARER.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), *headers],
    }
    await ServerGuard(Reached(), AUTH)(scope, receive, send)
    await ServerGuard(Reached(), AUTH)(
        {**scope, "headers": [*scope["headers"], (b"host", b"evil.example")]}, receive, send
    )
    assert [message["status"] for message in sent if "status" in message] == [200, 421]


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Basic",
        "Basic !",
        basic(""),
        basic(":"),
        basic(AUTH[:-1]),
        basic(f"{AUTH}x"),
        f"Bearer {AUTH}",
        "é",
    ],
)
def test_a_wrong_credential_is_refused(guarded: Guarded, given: str) -> None:
    assert guarded.ask("GET", "/api/health", {"Authorization": given}).status == 401
    assert (
        guarded.ask("GET", "/api/health", {**guarded.log_in(), "Authorization": given}).status
        == 401
    )
    assert guarded.reached.asked == []


def test_a_request_that_needs_no_preflight_is_refused(guarded: Guarded) -> None:
    """A page sends it with `no-cors` and a body without a type; with a login in the browser its
    cookie goes along to another port."""
    cookie = {"Cookie": guarded.log_in()["Cookie"]}
    for origin in (
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {},
    ):
        for known in ({}, cookie, *([BEARER] if origin else [])):
            assert guarded.ask(
                "POST", "/api/deployments/x/create_flow_run", {**origin, **known}, "{}"
            ).status in (401, 403)
    assert guarded.reached.asked == []
    assert (
        guarded.ask(
            "POST", "/api/deployments/x/create_flow_run", {**cookie, "Origin": guarded.url}, "{}"
        ).status
        == 200
    )


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_a_page_on_another_port_reads_nothing_by_the_cookie(guarded: Guarded, site: str) -> None:
    """Images, scripts and frames bring no Origin; browsers say where they come from all the
    same."""
    cookie = guarded.log_in() | {"Sec-Fetch-Site": site}
    for kind in ("empty", "script", "iframe", "image"):
        assert guarded.ask("GET", "/api/flows", {**cookie, "Sec-Fetch-Dest": kind}).status == 403
    assert guarded.ask("GET", "/", {**cookie, "Sec-Fetch-Dest": "document"}).status == 200, (
        "a link to the page"
    )


def test_no_page_is_framed_and_no_address_is_handed_on(guarded: Guarded) -> None:
    for answer in (
        guarded.ask("GET", "/", BEARER),
        guarded.ask("GET", guarded.make_link()),
        guarded.ask("GET", "/"),
    ):
        assert (answer.headers["X-Frame-Options"], answer.headers["Referrer-Policy"]) == (
            "DENY",
            "no-referrer",
        )


def test_a_link_logs_in_once(guarded: Guarded) -> None:
    link = guarded.make_link()
    assert guarded.ask("HEAD", link).status == 401, "a look at the address does not use it up"
    first = guarded.ask("GET", link)
    assert first.status == 200
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(first.headers["Set-Cookie"].split("; "))
    assert AUTH.partition(":")[2] not in first.headers["Set-Cookie"]
    again = guarded.ask("GET", link)
    assert (again.status, again.headers["Set-Cookie"]) == (403, None)


def test_a_link_expires_and_so_does_a_login(guarded: Guarded) -> None:
    link, cookie = guarded.make_link(), guarded.log_in()
    guarded.clock.ahead = LINK_SECONDS + 1
    assert guarded.ask("GET", link).status == 403
    assert guarded.ask("GET", "/", cookie).status == 200
    guarded.clock.ahead = COOKIE_SECONDS + 1
    assert guarded.ask("GET", "/", cookie).status == 401


def test_a_guessed_link_or_a_changed_cookie_is_refused(guarded: Guarded) -> None:
    guarded.make_link()
    for token in ("", "x", "%00", "%ff", "a&token=b"):
        assert guarded.ask("GET", f"/envmill/login?token={token}").status == 403
    assert guarded.ask("GET", "/envmill/login").status == 403
    name, _, value = guarded.log_in()["Cookie"].partition("=")
    until, _, signature = value.partition(".")
    later = str(int(until) + 1000)
    for wrong in (
        "",
        ".",
        until,
        f"{until}.",
        f"{later}.{signature}",
        f"{until}.{signature[:-1]}",
        f"-1.{signature}",
        f"²³.{signature}",
        "é.é",
    ):
        assert (
            guarded.ask("GET", "/", {"Cookie": f"{name}={wrong}".encode().decode("latin-1")}).status
            == 401
        ), wrong
    assert guarded.reached.asked == []


def test_only_the_secret_makes_links(guarded: Guarded) -> None:
    assert guarded.ask("POST", LINKS).status == 401
    assert guarded.ask("POST", LINKS, {**guarded.log_in(), "Origin": guarded.url}).status == 403
    assert guarded.ask("POST", LINKS, {**BEARER, "Origin": "http://evil.example"}).status == 403


def test_a_proxy_of_the_operators_is_known_by_its_whole_origin() -> None:
    with guard("https://mill.example") as guarded:
        assert (
            guarded.ask(
                "GET", "/", {**BEARER, "Host": "mill.example", "Origin": "https://mill.example"}
            ).status
            == 200
        )
        assert (
            guarded.ask(
                "GET", "/", {**BEARER, "Host": "mill.example", "Origin": "http://mill.example"}
            ).status
            == 403
        )
        assert guarded.ask("GET", "/", {**BEARER, "Host": "other.example"}).status == 421
        assert guarded.ask("GET", "/", {**BEARER, "Origin": "https://mill.example"}).status == 403


@pytest.mark.parametrize(
    ("host", "secure"), [("mill.example", True), ("lab:8080", False), ("127.0.0.1", False)]
)
def test_a_cookie_is_bound_to_tls_where_the_proxy_adds_it(host: str, secure: bool) -> None:
    """Else any page that is fetched by http from that name carries it in the open."""
    with guard("https://mill.example", "http://lab:8080") as guarded:
        given = guarded.ask("GET", guarded.make_link(), {"Host": host}).headers["Set-Cookie"]
        assert ("Secure" in given.split("; ")) is secure
