"""A connection: one client, errors without secrets, keys that stay where they were sent."""

import asyncio
import pickle
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from envmill.base.errors import BadRequest, KeyRefused, ModelError, Outage, Throttled
from envmill.base.settings import Endpoint, Secret
from envmill.models.base import Message, Request
from envmill.models.connection import ApiConnection, Connections
from envmill.models.failures import ErrorResponse, explain, read_retry_after
from tests.models.calling import KEY, PROMPT, make_provider
from tests.models.vendors.launch import Loopback

ASKED = Request(PROMPT, {}, (Message("user", "Say something."),), None, 1, 0, "s", "a")
ENDPOINT = Endpoint("http://box/v1", Secret(KEY), "OPENAI_API_KEY")
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.long(cases=22)
@pytest.mark.parametrize("vendor", ["openai", "responses", "anthropic"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "status", "status": 429}, Throttled),
        ({"kind": "status", "status": 500}, Outage),
        ({"kind": "status", "status": 503}, Outage),
        ({"kind": "status", "status": 529}, Outage),
        ({"kind": "status", "status": 408}, Outage),
        ({"kind": "status", "status": 401}, KeyRefused),
        ({"kind": "status", "status": 403}, KeyRefused),
        ({"kind": "status", "status": 402}, KeyRefused),
        ({"kind": "status", "status": 429, "code": "insufficient_quota"}, KeyRefused),
        (
            {"kind": "status", "status": 400, "message": "Your credit balance is too low"},
            KeyRefused,
        ),
        ({"kind": "status", "status": 400}, BadRequest),
        ({"kind": "status", "status": 404}, BadRequest),
        ({"kind": "status", "status": 422}, BadRequest),
        ({"kind": "status", "status": 413}, BadRequest),
        ({"kind": "html", "status": 200}, Outage),
        ({"kind": "html", "status": 403}, Outage),
        ({"kind": "html", "status": 502}, Outage),
        ({"kind": "close"}, Outage),
        ({"kind": "cut"}, Outage),
        ({"kind": "empty"}, Outage),
        ({"kind": "truncated"}, Outage),
        ({"kind": "shapeless"}, Outage),
    ],
    ids=lambda value: (
        "-".join(map(str, value.values())).replace(" ", "_")
        if isinstance(value, dict)
        else value.__name__
    ),
)
async def test_a_fault_is_what_it_is_at_every_vendor(
    vendors: Loopback, vendor: str, fault: dict[str, Any], kind: type[ModelError]
) -> None:
    facts: dict[str, Any] = {"message": f"because of {KEY}"} | fault
    vendors.fail(**facts)
    provider = make_provider(vendor, vendors.root)
    with pytest.raises(kind) as failed:
        await provider.complete(ASKED)
    await provider.close()
    assert type(failed.value) is kind
    assert len(vendors.requests()) == 1, "a provider never retries"
    shown = [
        *traceback.format_exception(failed.value),
        repr(failed.value.facts),
        pickle.dumps(failed.value).decode("latin-1"),
    ]
    assert not any(KEY in text for text in shown)
    assert (failed.value.__cause__, failed.value.__context__) == (None, None) or kind is BadRequest


def test_every_error_ends_with_the_mend() -> None:
    for status in (401, 402, 429, 500, 400, 404):
        error = explain(
            ErrorResponse(status, {}, b'{"error": {"message": "no"}}'), "openai:m", ENDPOINT
        )
        assert error.message.startswith(f"openai:m answered {status}: no\n")
        assert len(error.message.splitlines()) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"error": {"message": "m"}}', "m"),
        (b'{"error": "m"}', "m"),
        (b'{"message": "m"}', "m"),
        (b'{"detail": "m"}', "m"),
        (b'{"detail": [{"loc": ["body"], "msg": "m"}]}', "'msg': 'm'"),
        (b"plain m", "plain m"),
        (b"", "no message"),
        (b"\xff\xfe", "\ufffd"),
        (b"x" * 100_000, "x" * 400),
    ],
)
def test_any_error_body_is_quoted(body: bytes, told: str) -> None:
    message = explain(ErrorResponse(400, {}, body), "m", ENDPOINT).message
    assert told in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, 86_400.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 99 Jan 1970 00:00:00 GMT"}, None),
    ],
)
def test_retry_after_is_read_in_every_format(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_retry_after(headers) == seconds


def test_retry_after_as_a_date_counts_from_now() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    seconds = read_retry_after({"retry-after": soon})
    assert seconds is not None
    assert 0 < seconds <= 100


def test_a_loop_that_was_closed_does_not_take_the_provider_along(vendors: Loopback) -> None:
    provider = make_provider("openai", vendors.root)
    for _ in range(3):
        asyncio.run(provider.complete(ASKED))

    async def complete_and_close() -> None:
        await provider.complete(ASKED)
        await provider.close()
        await provider.complete(ASKED)
        await provider.close()

    asyncio.run(complete_and_close())
    asyncio.run(provider.close())
    assert len(vendors.requests()) == 5


async def test_all_who_ask_at_a_server_share_one_client(vendors: Loopback) -> None:
    connections = Connections()
    endpoint = Endpoint(vendors.openai, Secret(KEY))
    assert connections.of("openai", endpoint) is connections.of("openai", endpoint)
    assert connections.of("anthropic", endpoint) is not connections.of("openai", endpoint)
    vendors.set(latency=0.05)
    connection = connections.of("openai", endpoint)
    for _ in range(3):
        await asyncio.gather(*(connection.post("/chat/completions", BODY, "m") for _ in range(120)))
    await connections.close()
    assert (
        vendors.counts()["connections"] <= 120 + 3
    )  # the control connections; with the SDK's own limits every round adds some


async def test_half_a_surrogate_pair_is_our_own_mistake() -> None:
    with pytest.raises(BadRequest, match="cannot be sent"):
        await ApiConnection("openai", ENDPOINT).post("/chat/completions", {"text": "\ud800"}, "m")


async def test_an_error_inside_a_good_answer_is_an_error() -> None:
    with (
        answering(b'{"error": {"message": "slow down", "code": 429}}') as (url, _),
        pytest.raises(Throttled, match="slow down"),
    ):
        await ApiConnection("openai", Endpoint(url)).post("/chat/completions", BODY, "m")
    with (
        answering(b'{"error": {"message": "broken", "code": "upstream"}}') as (url, _),
        pytest.raises(Outage, match="broken"),
    ):
        await ApiConnection("openai", Endpoint(url)).post("/chat/completions", BODY, "m")


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_a_redirect_does_not_take_the_key_along(vendor: Any) -> None:
    with answering(b"{}") as (elsewhere, received), answering(b"", 307, elsewhere) as (url, asked):
        connection = ApiConnection(vendor, Endpoint(url, Secret(KEY)))
        with pytest.raises(ModelError):
            await connection.post("/chat/completions", BODY, "m")
        await connection.close()
    assert len(asked) == 1
    assert KEY in asked[0]
    assert received == []


async def test_what_the_environment_names_for_the_sdks_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, vendors: Loopback
) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-somebody-else")
    for vendor in ("openai", "anthropic"):
        provider = make_provider(vendor, vendors.root, key="")
        await provider.complete(ASKED)
        await provider.close()
    assert not any("of-somebody-else" in str(request["headers"]) for request in vendors.requests())


@contextmanager
def answering(
    body: bytes, status: int = 200, location: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """A server that says one thing, and the headers it was sent."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(str(self.headers))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            if location:
                self.send_header("Location", f"{location}{self.path}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()
