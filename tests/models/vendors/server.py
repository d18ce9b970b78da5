"""The vendors' process: reads a request, meets its fault, answers in its format, counts.

request ─► key ─► fault? ─► format ─► turn ─► answer ─► (cut, trickled, halved …)
`/control/…` is the tests' side door: script, latency, keys, counts, requests, batches.
"""

import asyncio
import json
import sys
from typing import Any

from tests.models.vendors.batches import Batches
from tests.models.vendors.conversation import Conversation
from tests.models.vendors.exchange import Answer, Asked, chunk, read_request
from tests.models.vendors.formats import FORMATS
from tests.models.vendors.formats.base import anthropic_error, openai_error, refuse, render_event
from tests.models.vendors.script import Fault, Rule, Script
from tests.models.vendors.tally import Tally

_PAGE = (
    b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad "
    b"Gateway</h1></center></body></html>"
)
_PROXY = {"Server": "squid"}


class Vendors:
    """State of the process."""

    def __init__(self) -> None:
        self.script, self.tally = Script(), Tally()
        self.batches = Batches(self.script, self.tally)
        self.latency = 0.0
        self.keys: set[str] | None = None
        """Keys that are let in; None lets in every key."""
        self.models = ["loopback-large", "loopback-small"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.tally.connections += 1
        try:
            while (asked := await read_request(reader)) and await self._exchange(asked, writer):
                pass
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or this process ends: nobody is left to tell
        finally:
            writer.close()

    async def _exchange(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        if asked.path.startswith("/control/"):
            return await _send(self._control(asked), None, writer)
        form = FORMATS.get(asked.path)
        conversation = form.read(asked.read()) if form else None
        text = conversation.text if conversation else asked.body.decode("latin-1")
        self.tally.begin(asked, conversation)
        well = False
        try:
            fault = self.script.fault_of(asked.path, text)
            await asyncio.sleep(
                self.latency + (fault.seconds if fault and fault.kind == "delay" else 0.0)
            )
            answer = (
                self._refuse_key(asked) or _break(asked, fault) or self._answer(asked, conversation)
            )
            sent = await _send(answer, fault, writer)
            well = (
                sent
                and answer.status == 200
                and (fault is None or fault.kind in ("delay", "trickle"))
            )
            return sent
        finally:
            self.tally.end(conversation, well)

    def _refuse_key(self, asked: Asked) -> Answer | None:
        given = asked.headers.get("x-api-key") or asked.headers.get(
            "authorization", ""
        ).removeprefix("Bearer ")
        if given and (self.keys is None or given in self.keys):
            return None
        said = (
            f"Incorrect API key provided: {given[:3]}***."
            if given
            else "You didn't provide an API key."
        )
        return refuse(asked.path, Fault("status", 401, message=said))

    def _answer(self, asked: Asked, conversation: Conversation | None) -> Answer:
        if conversation is not None:
            form, turn = (
                FORMATS[asked.path],
                conversation.hear(self.script.turn_of(asked.path, conversation.text)),
            )
            if conversation.stream:
                return Answer(
                    kind="text/event-stream", pieces=tuple(form.stream(conversation, turn))
                )
            return Answer.of(form.answer(conversation, turn))
        if asked.path == "/v1/messages/count_tokens":
            read = FORMATS["/v1/messages"].read(asked.read())
            return Answer.of({"input_tokens": -(-len(read.text) // 4)})
        if asked.path == "/v1/responses/input_tokens":
            return Answer.of(
                {
                    "object": "response.input_tokens",
                    "input_tokens": 100 + len(FORMATS["/v1/responses"].read(asked.read()).text),
                }
            )
        if asked.path == "/tokenize":
            count = 200 + len(FORMATS["/v1/chat/completions"].read(asked.read()).text)
            return Answer.of({"count": count, "max_model_len": 32_768, "tokens": [1] * count})
        if asked.path == "/v1/models":
            return Answer.of(_list_models(self.models, asked))
        missing = Fault("status", 404, message=f"Unknown request URL: {asked.method} {asked.path}.")
        return self.batches.answer(asked) or refuse(asked.path, missing)

    def _control(self, asked: Asked) -> Answer:
        given, name = asked.read(), asked.path.removeprefix("/control/")
        if name == "reset":
            served = self.tally
            self.__init__()
            self.tally.in_flight = served.in_flight  # those still waiting come off the new tally
            return Answer.of({})
        if name == "script":
            rules = [Rule.read(spec) for spec in given["rules"]]
            self.script.rules[:] = (
                rules if given.get("anew", True) else [*rules, *self.script.rules]
            )
            self.script.chance.seed(given.get("seed", 0))
        elif name == "set":
            self.latency = given.get("latency", self.latency)
            self.models = given.get("models", self.models)
            if "keys" in given:
                self.keys = None if given["keys"] is None else set(given["keys"])
            self.batches.manner = self.batches.manner.adapt(given.get("batches", {}))
        elif name == "requests":
            return Answer.of(self.tally.requests)
        return Answer.of(self.tally.render())


def _break(asked: Asked, fault: Fault | None) -> Answer | None:
    """Answers that replace the model's; the rest of the faults are met while sending."""
    match fault.kind if fault else None:
        case "status":
            return refuse(asked.path, fault)  # pyright: ignore[reportArgumentType]
        case "html":
            return Answer(
                _PAGE, fault.status if fault and fault.status else 200, "text/html", _PROXY
            )
        case "empty":
            return Answer()
        case "shapeless":
            return Answer.of({"ok": True, "data": [1, 2, 3]})
        case _:
            return None


async def _send(answer: Answer, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
    """Whether the answer went out and the connection goes on."""
    kind = fault.kind if fault else None
    if kind == "hang":
        await asyncio.sleep(3600)
    if kind in ("hang", "close"):
        return False
    if kind == "event" and fault and answer.pieces:
        answer = Answer(
            kind=answer.kind,
            pieces=(*answer.pieces[: len(answer.pieces) // 2], *_render_trouble(answer, fault)),
        )
    if kind == "truncated":
        answer = Answer(
            answer.body[: len(answer.body) // 2],
            answer.status,
            answer.kind,
            answer.headers,
            answer.pieces[:3],
        )
    whole = answer.render()
    if kind == "silent":
        writer.write(
            b"".join((answer.render_head(), *map(chunk, answer.pieces[: len(answer.pieces) // 2])))
        )
        await writer.drain()
        await asyncio.sleep(3600)
    if kind == "cut":
        writer.write(
            whole[: len(answer.render_head()) + (len(whole) - len(answer.render_head())) // 2]
        )
        await writer.drain()
        return False
    if kind == "trickle" and fault:
        for start in range(0, len(whole), 16):
            writer.write(whole[start : start + 16])
            await asyncio.sleep(fault.seconds)
    elif answer.pieces:
        for piece in (answer.render_head(), *map(chunk, answer.pieces), b"0\r\n\r\n"):
            writer.write(piece)
    else:
        writer.write(whole)
    await writer.drain()
    return True


def _render_trouble(answer: Answer, fault: Fault) -> list[bytes]:
    """An error inside a stream that began with 200."""
    if answer.pieces[0].startswith(b"event: message_start"):
        return [render_event({"type": "error", "error": anthropic_error(fault)}, "error")]
    if answer.pieces[0].startswith(b"event: response"):
        return [
            render_event(
                {"type": "error", "sequence_number": 99, "param": None, **openai_error(fault)},
                "error",
            )
        ]
    return [render_event({"error": openai_error(fault)})]


def _list_models(models: list[str], asked: Asked) -> dict[str, Any]:
    if "anthropic-version" in asked.headers:
        found = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in models
        ]
        return {
            "data": found,
            "has_more": False,
            "first_id": models[0] if models else None,
            "last_id": models[-1] if models else None,
        }
    return {
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": 1, "owned_by": "loopback"} for name in models
        ],
    }


async def run(port: int = 0) -> None:
    """Serve until the parent's end of standard input closes, so that nothing outlives a test."""
    vendors = Vendors()
    server = await asyncio.start_server(vendors.serve, "127.0.0.1", port, backlog=2048)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    server.close()
