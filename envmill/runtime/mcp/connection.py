"""A connection: one client, one live session, and every message between them."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from envmill.runtime.canonical import Json, NotJson, is_array, is_object, plain, render
from envmill.runtime.jail.client import JailError, Session
from envmill.runtime.mcp.messages import (
    BATCHED,
    INTERNAL,
    INVALID,
    LIMIT,
    MODERN,
    PARAMETERS,
    UNKNOWN,
    VERSION,
    VERSIONS,
    Message,
    RpcError,
    check,
    find_name,
    make_error,
    make_reply,
)
from envmill.runtime.mcp.offer import Offer
from envmill.runtime.mcp.recording import RecordingFile
from envmill.runtime.mcp.replies import describe_result

_REVISION, _SERVER = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/serverInfo"
"""Where a request names its revision, and a reply its server, where there was no `initialize`."""
_UNKEPT = {"ttlMs": 0, "cacheScope": "private"}
"""What is listed is not worth keeping."""


class SessionLine:
    """A live session and its recording, for the one or two who play in it."""

    def __init__(self, session: Session, recorder: RecordingFile | None) -> None:
        self.session, self.recorder = session, recorder
        self.turn = threading.Lock()
        self.outage = ""
        """Why no more calls are made; empty while they are."""


class McpConnection:
    """Answers one message at a time, from any thread."""

    def __init__(
        self,
        offer: Offer,
        session: Session,
        recorder: RecordingFile | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """The session stands at its start. `whole` says that nobody else is on the line, so that it
        needs no name."""
        self._offer, self._whole = offer, whole
        self._line, self._joins = SessionLine(session, recorder), False
        self._waiting: set[Any] = set()
        self._cancelled: set[Any] = set()
        self.version = ""
        """The revision agreed on; empty before that."""
        self._methods: dict[str, Callable[[Message], Message]] = {
            "initialize": self._initialize, "ping": self._ping, "tools/list": self._list, "tools/call": self._call,
            **({"server/discover": self._discover} if whole else {}),
        }  # fmt: skip

    def join(self, offer: Offer) -> "McpConnection":
        """A connection of the other side on the same session. It ends with this one."""
        other = McpConnection(offer, self._line.session, self._line.recorder)
        other._line, other._joins = self._line, True
        return other

    def expect(self, content: Any) -> None:
        """Take note of what will be answered later: only what waits can still be cancelled, and
        only a note of it in time does that."""
        for message in content if is_array(content) else [content]:
            if (name := find_name(message)) is not None:
                self._waiting.add(name)
            self._handle(message)

    def answer(self, content: Any) -> Any:
        """The reply to a message, or to several in an array; None where there is none."""
        if not is_array(content):
            return self._answer(content)
        if self.version != BATCHED or not content:
            self._waiting.difference_update(map(find_name, content))
            return make_error(
                None,
                RpcError(
                    INVALID,
                    f"Send one message at a time: only revision {BATCHED} has several in an array.",
                ),
            )
        return [
            reply for message in content if (reply := self._answer(message)) is not None
        ] or None

    def close(self) -> None:
        """End the session, after the call that is under way. Who joined it only leaves."""
        if self._joins:
            return
        with self._line.turn:
            self._line.outage = self._line.outage or "The session is over."
            with contextlib.suppress(JailError):
                self._line.session.close()
            if self._line.recorder:
                self._line.recorder.close()

    def _answer(self, content: Any) -> Message | None:
        name = find_name(content)
        try:
            message = check(content)
            if name is None or "method" not in message:
                return None
            with self._line.turn:
                result = (
                    None
                    if name in self._cancelled
                    else self._find(message)(message.get("params", {}))
                )
            if result is None or name in self._cancelled:
                return None
            return make_reply(
                name, result | ({"resultType": "complete"} if self.version == MODERN else {})
            )
        except RpcError as fault:
            return make_error(name, fault)
        finally:
            self._waiting.discard(name)
            self._cancelled.discard(name)

    def _handle(self, message: Json) -> None:
        if (
            is_object(message)
            and message.get("method") == "notifications/cancelled"
            and is_object(params := message.get("params"))
        ):
            meant = find_name({"id": params.get("requestId")})
            if meant in self._waiting:
                self._cancelled.add(meant)

    def _find(self, message: Message) -> Callable[[Message], Message]:
        method: str = message["method"]
        if not self.version and method not in ("initialize", "ping"):
            if not self._whole or _read_revision(message) != MODERN:
                raise demand_beginning(message, self._whole)
            # A client that was only looking may still begin in another.
            self.version = "" if method == "server/discover" else MODERN
        if method not in self._methods:
            raise RpcError(
                UNKNOWN,
                f"There is no method {method[:80]!r} here; known: {', '.join(self._methods)}.",
            )
        return self._methods[method]

    def _initialize(self, params: Message) -> Message:
        if self.version:
            raise RpcError(
                INVALID,
                "It was initialized already. A session begins once: open another connection for "
                "another.",
            )
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise RpcError(
                PARAMETERS, f"initialize needs a protocolVersion, like {VERSIONS[-1]!r}."
            )
        self.version = asked if asked in VERSIONS else VERSIONS[-1]
        return {
            "protocolVersion": self.version,
            "serverInfo": self._introduce(),
            **self._describe_abilities(),
        }

    def _discover(self, params: Message) -> Message:  # noqa: ARG002
        named = {"resultType": "complete", "_meta": {_SERVER: self._introduce()}}
        return {
            "supportedVersions": [*VERSIONS, MODERN],
            **self._describe_abilities(),
            **_UNKEPT,
            **named,
        }

    def _introduce(self) -> Message:
        return {
            "name": "envmill",
            "title": self._offer.title,
            "version": self._offer.program["hash"],
        }

    def _describe_abilities(self) -> Message:
        more = {"instructions": self._offer.instructions} if self._offer.instructions else {}
        return {"capabilities": {"tools": {}}, **more}

    def _ping(self, params: Message) -> Message:  # noqa: ARG002
        return {}

    def _list(self, params: Message) -> Message:
        return self._offer.list_tools(params.get("cursor")) | (
            _UNKEPT if self.version == MODERN else {}
        )

    def _call(self, params: Message) -> Message:
        name, arguments = params.get("name"), _read_arguments(params.get("arguments"))
        if not isinstance(name, str):
            raise RpcError(PARAMETERS, "tools/call needs the name of a tool, which is a text.")
        line = self._line
        if line.outage:
            raise RpcError(INTERNAL, line.outage)
        try:
            seen = line.session.call(name, arguments, self._offer.actor)
            if line.recorder:
                line.recorder.note(name, arguments, self._offer.actor, seen)
            return describe_result(seen, line.session.fetch)
        except (JailError, OSError) as error:
            raise self._break_off(error) from None

    def _break_off(self, error: Exception) -> RpcError:
        """What broke says nothing about the client, and is never an answer of a tool."""
        line = self._line
        line.outage = (
            f"The server broke, not the environment ({error}). Open another connection; this "
            "one's calls count for nothing."
        )
        if line.recorder:
            with contextlib.suppress(OSError):
                line.recorder.break_off(line.outage)
        return RpcError(INTERNAL, line.outage)


def demand_beginning(message: Message, whole: bool = False) -> RpcError:
    """What a request of no session is told, in the terms of its own revision where that knows no
    `initialize`."""
    asked = _read_revision(message)
    if asked is None and message.get("method") != "server/discover":
        return RpcError(INVALID, "Send initialize first.")
    told = {
        "supported": [*VERSIONS, *([MODERN] if whole else [])],
        "requested": str(asked or "")[:40],
    }
    return RpcError(
        VERSION,
        f"An environment is a session, which begins with initialize in {VERSIONS[-1]} or earlier.",
        told,
    )


def _read_revision(message: Message) -> Json:
    """What a request says of itself; None when it says nothing."""
    params = message.get("params")
    meta = params.get("_meta") if is_object(params) else None
    return meta.get(_REVISION) if is_object(meta) else None


def _read_arguments(value: Json) -> Message:
    """What can be sent to the jail: a bounded tree of plain JSON."""
    if value is None:
        return {}
    if not is_object(value):
        raise RpcError(PARAMETERS, "The arguments are an object. Nothing was called.")
    try:
        arguments = plain(value)
        render(arguments, LIMIT)
    except NotJson as fault:
        raise RpcError(
            PARAMETERS, f"The arguments cannot be taken {fault}. Nothing was called."
        ) from None
    return arguments
