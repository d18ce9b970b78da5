"""The driver's end of one container's keeper: a request, its reply, and what a keeper's silence or
nonsense means.

A plain protocol, as the jail's link is: a command costs the event loop one write and one callback.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import orjson

from envmill.base.errors import SandboxError
from envmill.runtime.box.init import FRAME, LARGEST
from envmill.sandbox.containers.base import CommandResult, Digest, FileResult

SLACK = 60.0
"""Seconds beyond its own deadline after which a request's keeper counts as hung."""
COMMAND = 1 << 18
"""Bytes of a command: a shell takes them one by one."""
_MEND = "Nothing is known about what was asked of it: retry."


class InitConnection(asyncio.Protocol):
    """One keeper's wire. Once broken it stays so."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._numbers = count(1)
        self._due: asyncio.Future[tuple[dict[str, Any], bytes]] | None = loop.create_future()
        self._turn = asyncio.Lock()
        self._broken = ""

    @property
    def broken(self) -> bool:
        return bool(self._broken)

    async def wait_ready(self, seconds: float = SLACK) -> None:
        """Until the keeper's first word."""
        assert self._due
        await self._await(self._due, seconds)

    async def shell(self, command: str, seconds: float, cap: int) -> CommandResult:
        if "\0" in command:
            raise ValueError("No shell takes a command with a NUL in it.")
        content = command.encode("utf-8", "surrogateescape")
        if len(content) > COMMAND:
            raise ValueError(
                f"{len(content)} bytes are more than a shell is told at once ({COMMAND}): put "
                "them into a file."
            )
        return _read_ran(
            *await self.ask({"op": "shell", "timeout": seconds, "cap": cap}, content, seconds)
        )

    async def run(
        self,
        words: Sequence[str],
        seconds: float,
        given: bytes,
        user: str,
        environment: Mapping[str, str] | None,
        cap: int,
        judges: bool,
    ) -> CommandResult:
        _check_size(given)
        request = {
            "op": "run", "words": list(words), "timeout": seconds, "user": user, "environment": dict(environment or {}), "cap": cap,
            "judges": judges,
        }  # fmt: skip
        answer, output = await self.ask(request, given, seconds)
        if answer["outcome"] == "refused":
            # As a shell says of a program it cannot start.
            return CommandResult("done", 127, f"{words[0]}: {answer['reason']}\n".encode())
        return _read_ran(answer, output)

    async def put(self, path: str, content: bytes, mode: int, user: str) -> FileResult:
        _check_size(content)
        answer, _ = await self.ask(
            {"op": "put", "path": _check_path(path), "mode": mode, "user": user}, content
        )
        return (
            FileResult(content)
            if answer["outcome"] == "done"
            else FileResult(None, answer["reason"], answer["errno"])
        )

    async def get(self, path: str, cap: int) -> FileResult:
        answer, content = await self.ask(
            {"op": "get", "path": _check_path(path), "cap": min(cap, LARGEST)}
        )
        return (
            FileResult(content)
            if answer["outcome"] == "done"
            else FileResult(None, answer["reason"], answer["errno"])
        )

    async def digest(self, paths: Sequence[str], known: Mapping[str, str]) -> dict[str, Digest]:
        answer, _ = await self.ask(
            {"op": "digest", "paths": [_check_path(path) for path in paths], "known": dict(known)}
        )
        if answer["outcome"] != "done":
            raise SandboxError(f"Files could not be compared: {answer['reason']}. {_MEND}")
        return {path: Digest(mark, content) for path, (mark, content) in answer["digests"].items()}

    async def hold(self) -> None:
        """Stop every process but the keeper."""
        answer, _ = await self.ask({"op": "hold"})
        if answer["outcome"] != "done":
            raise SandboxError(f"A container could not be held: {answer['reason']}. {_MEND}")

    async def is_still(self) -> bool:
        answer, _ = await self.ask({"op": "still"})
        return answer["outcome"] == "done" and answer["still"]

    async def list_full(self, folders: Sequence[str], size: int) -> list[str]:
        answer, _ = await self.ask({"op": "room", "folders": list(folders), "bytes": size})
        if answer["outcome"] != "done":
            raise SandboxError(
                f"The room in a container could not be measured: {answer['reason']}. {_MEND}"
            )
        return answer["full"]

    async def list_works(self, opened: Sequence[str]) -> list[str]:
        """Folders that stay open when a container is sealed."""
        answer, _ = await self.ask({"op": "works", "open": list(opened)})
        if answer["outcome"] != "done":
            raise SandboxError(
                f"The folders of a container could not be listed: {answer['reason']}. {_MEND}"
            )
        return answer["works"]

    async def seal(self, opened: Sequence[str]) -> None:
        answer, _ = await self.ask({"op": "seal", "open": list(opened)})
        if answer["outcome"] != "done":
            raise SandboxError(f"A container could not be sealed: {answer['reason']}. {_MEND}")

    async def ask(
        self, request: dict[str, Any], content: bytes = b"", seconds: float = 0.0
    ) -> tuple[dict[str, Any], bytes]:
        """One request and its reply."""
        async with self._turn:
            self._check()
            number = next(self._numbers)
            header = orjson.dumps({"id": number, **request})
            self._due = asyncio.get_running_loop().create_future()
            assert self._transport
            self._transport.write(FRAME.pack(len(header), len(content)) + header + content)
            try:
                answer, body = await self._await(self._due, seconds + SLACK)
            except asyncio.CancelledError:
                # Its reply would be taken for the next one's.
                self.end("A request was given up.")
                raise
            if answer.get("id") != number:
                self.end("The container's keeper answered something else.")
            self._check()
            return answer, body

    def end(self, why: str) -> None:
        """Hang up; the keeper then ends, and with it the container."""
        self._broken = self._broken or why
        if self._transport:
            self._transport.abort()
        if self._due and not self._due.done():
            self._due.set_exception(SandboxError(f"{self._broken} {_MEND}"))
            self._due.exception()  # nobody may be waiting any more

    async def _await(
        self, due: "asyncio.Future[tuple[dict[str, Any], bytes]]", seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        try:
            async with asyncio.timeout(seconds):
                return await due
        except TimeoutError:
            self.end(f"The container's keeper was silent for {seconds:g} s.")
            raise SandboxError(f"{self._broken} {_MEND}") from None

    def _check(self) -> None:
        if self._broken:
            raise SandboxError(f"{self._broken} {_MEND}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._buffer.startswith(b"broken: "):
            return  # the reason is whole when the connection ends
        if len(self._buffer) < FRAME.size:
            return
        header, body = FRAME.unpack_from(self._buffer)
        if header > 1 << 20 or body > LARGEST:
            self.end("The container's keeper sent nonsense.")
            return
        if len(self._buffer) >= (end := FRAME.size + header + body):
            frame = bytes(self._buffer[FRAME.size : end])
            del self._buffer[:end]
            self._handle(frame[:header], frame[header:])

    def connection_lost(self, exc: Exception | None) -> None:
        said = self._buffer.decode(errors="replace") if self._buffer.startswith(b"broken: ") else ""
        self.end(
            f"The container could not be arranged: {said[8:]}."
            if said
            else f"The container ended{f' ({exc})' if exc else ''}."
        )

    def _handle(self, header: bytes, body: bytes) -> None:
        try:
            answer = orjson.loads(header)
        except orjson.JSONDecodeError:
            self.end("The container's keeper sent nonsense.")
            return
        if self._due and not self._due.done():
            self._due.set_result((answer, body))


def _read_ran(answer: dict[str, Any], output: bytes) -> CommandResult:
    if answer["outcome"] == "refused":
        raise SandboxError(
            f"The container's shell could not be started: {answer['reason']}. {_MEND}",
            reason=answer["reason"],
        )
    return CommandResult(
        answer["outcome"], answer["code"], output, answer["total"] - len(output), answer["alive"]
    )


def _check_path(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise ValueError(f"{path!r} is no path in a container: begin it with a /.")
    return path


def _check_size(content: bytes) -> None:
    if len(content) > LARGEST:
        raise ValueError(
            f"{len(content)} bytes are more than a container is sent at once ({LARGEST})."
        )
