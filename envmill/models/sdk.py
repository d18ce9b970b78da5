"""The vendors' SDKs as mere carriers: their addresses, headers and errors, and none of their retries, types or guesses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from envmill.models.failures import Refusal
from envmill.settings import Endpoint

if TYPE_CHECKING:
    import httpx2

_CONNECT, _READ = 5.0, 600.0
"""Seconds to connect, and between two pieces of an answer; the door's deadline ends a call that takes too long."""
_POOL = 1024
"""Connections, kept alive or not: with fewer kept than in flight, every call opens a new one."""
_KEEP = 15.0
"""Seconds an idle connection is kept; servers close theirs sooner or later, and the next call must not run into that."""
_NO_KEY = "none"
"""Servers of one's own take any key, and the SDKs want one."""

Sent = tuple[bytes, str] | Refusal | str
"""Body and content type; an error answer; or why none came."""


@dataclass(frozen=True)
class Form:
    """A file for the server to keep, as a web form sends it."""

    fields: Mapping[str, str]
    name: str
    content: bytes


class Client(Protocol):
    """Carries bytes."""

    async def send(self, method: Literal["GET", "POST"], path: str, content: "bytes | Form | None") -> Sent:
        """Send once: a JSON text, a file, or nothing."""
        ...

    async def close(self) -> None:
        """Give back sockets."""
        ...


def open_client(vendor: Literal["openai", "anthropic"], endpoint: Endpoint) -> Client:
    """A client in the running loop. The SDKs are imported here: they take a second, and offline runs need none of them."""
    if vendor == "openai":
        import openai as sdk

        make, own = sdk.AsyncOpenAI, "https://api.openai.com/v1"
    else:
        import anthropic as sdk

        make, own = sdk.AsyncAnthropic, "https://api.anthropic.com"
    url = endpoint.url or own
    return _Carrier(sdk, make(api_key=endpoint.key.reveal() or _NO_KEY, base_url=url, max_retries=0, http_client=_open_http(url)))


def _open_http(url: str) -> "httpx2.AsyncClient":
    """Redirects are not followed: the key would go along to wherever they point. Loopback needs no proxy."""
    import httpx2

    limits = httpx2.Limits(max_connections=_POOL, max_keepalive_connections=_POOL, keepalive_expiry=_KEEP)
    outside = not url.startswith(("http://127.", "http://localhost", "http://[::1]"))
    return httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(_READ, connect=_CONNECT, pool=None), trust_env=outside)


class _Carrier:
    """Either SDK: both have the same bones."""

    def __init__(self, sdk: Any, client: Any) -> None:
        self._sdk, self._client = sdk, client

    async def send(self, method: Literal["GET", "POST"], path: str, content: "bytes | Form | None") -> Sent:
        try:
            return await _carry(self._client, method, path, content)
        except self._sdk.APIStatusError as error:
            return Refusal(error.status_code, error.response.headers, error.response.content)
        except self._sdk.APIConnectionError as error:
            return _tell(error)

    async def close(self) -> None:
        await self._client.close()


async def _carry(client: Any, method: str, path: str, content: "bytes | Form | None") -> Sent:
    import httpx2

    if method == "GET":
        answer = await client.get(path, cast_to=httpx2.Response)
    elif isinstance(content, Form):
        files, kind = [("file", (content.name, content.content))], {"Content-Type": "multipart/form-data"}
        answer = await client.post(path, cast_to=httpx2.Response, body=content.fields, files=files, options={"headers": kind})
    else:
        kind = {"Content-Type": "application/json"}
        answer = await client.post(path, cast_to=httpx2.Response, content=content, options={"headers": kind})
    return answer.content, answer.headers.get("content-type", "")


def _tell(error: BaseException) -> str:
    """The innermost reason: the SDKs say `Connection error.` to everything."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
