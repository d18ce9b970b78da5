"""One client of one server, shared by all who ask there, and opened anew in every event loop."""

import asyncio
import gc
import warnings
from collections.abc import Mapping
from typing import Literal, TypeAlias

import orjson

from envmill.base.errors import BadRequest, ModelError, Outage
from envmill.base.settings import Endpoint
from envmill.models.failures import ErrorResponse, explain
from envmill.models.sdk import SILENCE, Client, ConnectionFailure, FileUpload, Sent, open_client
from envmill.models.streams import find_error, has_begun, read_events
from schemas.base import Json, is_object

Vendor: TypeAlias = Literal["openai", "anthropic"]
"""Whose SDK speaks to the server."""

_SHOWN = 120
"""Characters of an answer that is none, quoted in the complaint."""


class ApiConnection:
    """Sends JSON, gives back a JSON object or raises what happened. Never asks twice."""

    def __init__(self, vendor: Vendor, endpoint: Endpoint, silence: float = SILENCE) -> None:
        self.vendor: Vendor = vendor
        self.endpoint = endpoint
        self._silence = silence
        self._clients: dict[asyncio.AbstractEventLoop, Client] = {}

    async def post(self, path: str, body: dict[str, Json], who: str) -> dict[str, Json]:
        """One answer that is quickly made; `who` is the model as messages name it."""
        return self._read(await self._send("POST", path, _write(body, who), who), who)

    async def ask(
        self, path: str, body: dict[str, Json], who: str
    ) -> list[dict[str, Json]] | dict[str, Json]:
        """The answer to a question that a model may work on for long: the events of a stream, or
        the body of a whole answer.

        A server that is asked for a stream may answer whole all the same. No limit is set here but
        on the silence within a stream.
        """
        sent = self._require(await self._open().ask(path, _write(body, who)), who)
        if not sent[1].startswith("text/event-stream"):
            return self._read(sent, who)
        events = read_events(sent[0])
        if fault := find_error(events):
            error = explain(ErrorResponse(fault[0], {}, orjson.dumps(fault[1])), who, self.endpoint)
            error.facts["sent"] = has_begun(sent[0])
            raise error
        return events

    async def get(self, path: str, who: str) -> dict[str, Json]:
        """One object the server keeps, such as its list of models."""
        return self._read(await self._send("GET", path, None, who), who)

    async def load(self, path: str, who: str) -> bytes:
        """A file the server keeps, as it is."""
        return (await self._send("GET", path, None, who))[0]

    async def upload(self, path: str, file: FileUpload, who: str) -> dict[str, Json]:
        """A file for the server to keep."""
        return self._read(await self._send("POST", path, file, who), who)

    async def _send(
        self,
        method: Literal["GET", "POST"],
        path: str,
        content: bytes | FileUpload | None,
        who: str,
    ) -> "tuple[bytes, str]":
        return self._require(await self._open().send(method, path, content), who)

    def _require(self, sent: Sent, who: str) -> "tuple[bytes, str]":
        """The exception of an SDK carries the request with its key, so ours is raised outside its
        handler: no chain leads there."""
        if isinstance(sent, ErrorResponse):
            raise explain(sent, who, self.endpoint)
        if isinstance(sent, ConnectionFailure):
            failed = "gave no whole answer" if sent.sent else "cannot be reached"
            raise Outage(
                f"{who} {failed} ({self.endpoint.key.mask(sent.why)}). Retry the run once it can.",
                sent=sent.sent,
            )
        return sent

    def _read(self, sent: "tuple[bytes, str]", who: str) -> dict[str, Json]:
        content, kind = sent
        try:
            body = orjson.loads(content)
        except orjson.JSONDecodeError:
            body = None
        if not is_object(body):
            begins = content[:_SHOWN].decode("utf-8", "replace") or "nothing"
            raise Outage(
                f"{who} answered with {kind or 'something'} that is no JSON object, beginning "
                f"{self.endpoint.key.mask(begins)!r}. "
                "A proxy may have answered: check the address, and retry the run.",
                sent=True,
            )
        if fault := _find_fault(body):
            raise self._explain_inner(fault, content, who)
        return body

    def _explain_inner(self, fault: int, content: bytes, who: str) -> ModelError:
        """Some gateways answer 200 and put the error inside."""
        return explain(ErrorResponse(fault, {}, content), who, self.endpoint)

    def prepare(self) -> None:
        """Open the client now: loading an SDK takes seconds on a busy machine, which a short
        deadline would take for a silent server."""
        self._open()

    def _open(self) -> Client:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._forget_closed()
            self._clients[loop] = open_client(self.vendor, self.endpoint, self._silence)
        return self._clients[loop]

    def _forget_closed(self) -> None:
        """A client cannot be closed without its loop; its sockets go now, and not whenever somebody
        collects them."""
        closed = [loop for loop in self._clients if loop.is_closed()]
        if closed:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                for loop in closed:
                    del self._clients[loop]
                gc.collect()

    async def close(self) -> None:
        """Give back its sockets; the next question opens new ones."""
        self._forget_closed()
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


def _write(body: dict[str, Json], who: str) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError as error:
        raise BadRequest(
            f"The question to {who} cannot be sent: {error}. Correct the inputs of its prompt."
        ) from None


def _find_fault(body: Mapping[str, Json]) -> int:
    """The status an error inside a good answer stands for; 0 when there is none. The Responses API
    has a null there."""
    error = body.get("error")
    if not error or "output" in body:
        return 0
    code = error.get("code") if is_object(error) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


class Connections:
    """Every connection of a process, one per server and SDK."""

    def __init__(self) -> None:
        self._open: dict[tuple[Vendor, str], ApiConnection] = {}

    def of(self, vendor: Vendor, endpoint: Endpoint) -> ApiConnection:
        """The connection to a server."""
        return self._open.setdefault((vendor, endpoint.url), ApiConnection(vendor, endpoint))

    async def close(self) -> None:
        """Close them all."""
        for connection in self._open.values():
            await connection.close()
