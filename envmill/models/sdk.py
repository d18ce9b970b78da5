"""The vendors' SDKs as mere carriers: their addresses, headers and errors, and none of their
retries, types, timeouts or guesses."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from envmill.base.settings import Endpoint
from envmill.models.failures import ErrorResponse
from envmill.models.streams import has_begun

if TYPE_CHECKING:
    import httpx2

_CONNECT, _READ = 5.0, 600.0
"""Seconds to connect, and to read from a server that need not work long: its files, its lists, its
batches."""
SILENCE = 300.0
"""Seconds without a piece after which a stream whose text has begun is given up. Models think for
minutes before their first word, and some between two parts of an answer; a server that has not
begun is waited for as long as the call may take."""
_LANE = 32
"""Calls of one pool of connections: a pool looks at each of its connections whenever a call comes
and goes, and asks the kernel about those that are idle, so that one pool of 256 took longer than
all the rest of a call."""
_KEEP = 15.0
"""Seconds an idle connection is kept; servers close theirs sooner or later, and the next call must
not run into that."""
_NO_KEY = "none"
"""Servers of one's own take any key, and the SDKs want one."""
_UNSENT = {
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "WriteError",
    "WriteTimeout",
    "ProxyError",
    "UnsupportedProtocol",
}
"""What the SDKs' HTTP client raises before a request is sent whole."""
_LOOPBACK = ("http://127.", "http://localhost", "http://[::1]")


@dataclass(frozen=True)
class ConnectionFailure:
    """A connection that gave no answer, or a part of one."""

    why: str
    sent: bool
    """Whether the server had the whole request: then it may have worked on it, and charge for
    that."""


Sent = tuple[bytes, str] | ErrorResponse | ConnectionFailure
"""Body and content type; an error answer; or why no whole one came."""


@dataclass(frozen=True)
class FileUpload:
    """A file for the server to keep, as a web form sends it."""

    fields: Mapping[str, str]
    name: str
    content: bytes


class Client(Protocol):
    """Carries bytes."""

    async def send(
        self, method: Literal["GET", "POST"], path: str, content: "bytes | FileUpload | None"
    ) -> Sent:
        """Send once: a JSON text, a file, or nothing."""
        ...

    async def ask(self, path: str, content: bytes) -> Sent:
        """Send a question once. The answer takes as long as it takes; only a stream that falls
        silent is given up."""
        ...

    async def close(self) -> None:
        """Give back sockets."""
        ...


def open_client(
    vendor: Literal["openai", "anthropic"], endpoint: Endpoint, silence: float = SILENCE
) -> Client:
    """A client in the running loop. The SDKs are imported here: they take a second, and offline
    runs need none of them."""
    if vendor == "openai":
        import openai as sdk

        make, own = sdk.AsyncOpenAI, "https://api.openai.com/v1"
    else:
        import anthropic as sdk

        make, own = sdk.AsyncAnthropic, "https://api.anthropic.com"
    url = endpoint.url or own
    open_http = _make_opener(url)
    key = endpoint.key.reveal() or _NO_KEY
    return _Carrier(
        sdk,
        lambda: make(api_key=key, base_url=url, max_retries=0, http_client=open_http()),
        silence,
    )


def _make_opener(url: str) -> "Callable[[], httpx2.AsyncClient]":
    """Redirects are not followed: the key would go along to wherever they point. Loopback needs no
    proxy."""
    import httpx2

    limits = httpx2.Limits(
        max_connections=_LANE, max_keepalive_connections=_LANE, keepalive_expiry=_KEEP
    )
    timeout, outside = (
        httpx2.Timeout(_READ, connect=_CONNECT, pool=None),
        not url.startswith(_LOOPBACK),
    )
    trusted = httpx2.create_ssl_context(
        trust_env=outside
    )  # read from disk once, however many pools there will be
    return lambda: httpx2.AsyncClient(
        limits=limits, timeout=timeout, trust_env=outside, verify=trusted
    )


@dataclass(eq=False)
class _Lane:
    """A client of an SDK with a pool of its own."""

    client: Any
    in_flight: int = 0


class _Carrier:
    """Either SDK: both have the same bones. The first lane with room is taken, so that few calls
    keep to few connections."""

    def __init__(self, sdk: Any, open_lane: Callable[[], Any], silence: float) -> None:
        self._sdk, self._open_lane, self._silence = sdk, open_lane, silence
        self._lanes = [_Lane(open_lane())]

    async def send(
        self, method: Literal["GET", "POST"], path: str, content: "bytes | FileUpload | None"
    ) -> Sent:
        return await self._take_lane(lambda client: _carry(client, method, path, content))

    async def ask(self, path: str, content: bytes) -> Sent:
        return await self._take_lane(
            lambda client: _read_pieces(client, path, content, self._silence)
        )

    async def _take_lane(self, carry: "Callable[[Any], Awaitable[Sent]]") -> Sent:
        import httpx2

        lane = self._find_lane()
        lane.in_flight += 1
        try:
            return await carry(lane.client)
        except self._sdk.APIStatusError as error:
            return ErrorResponse(error.status_code, error.response.headers, error.response.content)
        except (self._sdk.APIConnectionError, httpx2.TransportError) as error:
            return _describe(error)
        finally:
            lane.in_flight -= 1

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.client.close()

    def _find_lane(self) -> _Lane:
        free = next((lane for lane in self._lanes if lane.in_flight < _LANE), None)
        if free is None:
            self._lanes.append(free := _Lane(self._open_lane()))
        return free


async def _read_pieces(client: Any, path: str, content: bytes, silence: float) -> Sent:
    """A question, and its answer piece by piece, whether or not the server streams."""
    import httpx2

    patient = {
        "headers": {"Content-Type": "application/json"},
        "timeout": httpx2.Timeout(None, connect=_CONNECT),
    }
    answer = await client.post(
        path, cast_to=httpx2.Response, content=content, options=patient, stream=True
    )
    kind, pieces = answer.headers.get("content-type", ""), list[bytes]()
    arriving, begun = answer.aiter_bytes(), False
    try:
        while True:
            async with asyncio.timeout(silence if begun else None):
                pieces.append(await anext(arriving))
            begun = begun or has_begun(pieces[-1])
    except StopAsyncIteration:
        return b"".join(pieces), kind
    except TimeoutError:
        return ConnectionFailure(f"its stream fell silent for {silence:.0f} s", sent=True)
    finally:
        await answer.aclose()


async def _carry(client: Any, method: str, path: str, content: "bytes | FileUpload | None") -> Sent:
    import httpx2

    if method == "GET":
        answer = await client.get(path, cast_to=httpx2.Response)
    elif isinstance(content, FileUpload):
        files, kind = (
            [("file", (content.name, content.content))],
            {"Content-Type": "multipart/form-data"},
        )
        answer = await client.post(
            path,
            cast_to=httpx2.Response,
            body=content.fields,
            files=files,
            options={"headers": kind},
        )
    else:
        kind = {"Content-Type": "application/json"}
        answer = await client.post(
            path, cast_to=httpx2.Response, content=content, options={"headers": kind}
        )
    return answer.content, answer.headers.get("content-type", "")


def _describe(error: BaseException) -> ConnectionFailure:
    """The innermost reason: the SDKs say `Connection error.` to everything."""
    sent = True
    while True:
        sent = sent and type(error).__name__ not in _UNSENT
        if error.__cause__ is None:
            break
        error = error.__cause__
    return ConnectionFailure(
        f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, sent
    )
