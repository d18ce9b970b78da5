"""The flow process's end of one driver: ask it without blocking, notice its death.

A plain protocol, not streams: a request and its reply cost the event loop one write and one
callback.
"""

import asyncio
import logging
import subprocess
from collections.abc import Collection
from itertools import count

from envmill.base.errors import BuildError, SandboxError
from envmill.runtime.jail import cgroups
from envmill.runtime.jail.wire import BadFrame, Message, adopt_codec, decode, encode, frame_length
from envmill.sandbox.launch import CODEC, launch

SILENCE = 90.0
"""Seconds without a reply, while one is due, after which a driver counts as hung: a plan's budget
and half of it."""
_KNOWN = 256
"""Programs a driver is assumed to remember; it says so when it does not."""
_LOG = logging.getLogger(__name__)
_LEAK = (
    "Program %s answered %s otherwise in a session reset in place than in a fresh one. It is "
    "reset in place no more. "
    "Searches that found nothing in its environment may have missed something: play them again."
)
_MEND = "Nothing is known about the items concerned: retry them."


class DriverLink(asyncio.Protocol):
    """A running driver. One that died stays dead; the pool then makes another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._numbers = count(1)
        self._known: dict[str, None] = {}
        self._loop = asyncio.get_running_loop()
        self._watch: asyncio.TimerHandle | None = None
        self._heard = 0.0
        self._hello: asyncio.Future[Message] = self._loop.create_future()
        self.sessions = 0
        """Sessions open on it."""
        self.layers: dict[str, bool] = {}
        self.death = ""
        """Why the driver is dead; empty while it lives."""

    @classmethod
    async def start(
        cls, hash_seed: int, without: Collection[str], core: int | None, diagnose: bool = False
    ) -> "DriverLink":
        """Exec a driver and wait for its first word."""
        adopt_codec(CODEC)
        process, mine = launch(hash_seed, without, core, diagnose)
        _, link = await asyncio.get_running_loop().create_connection(cls, sock=mine)
        link._process = process
        try:
            hello = await asyncio.wait_for(link._hello, SILENCE)
        except BaseException as error:
            await link.close()
            if isinstance(error, TimeoutError):
                raise SandboxError(
                    f"The sandbox's driver did not start within {SILENCE:g} s. {_MEND}"
                ) from None
            raise
        link.layers = hello["layers"]
        return link

    @property
    def load(self) -> int:
        """How much waits for it."""
        return len(self._waiting) + self.sessions

    def knows(self, program: Message) -> bool:
        """Whether it was asked about a program before."""
        return program["hash"] in self._known

    async def ask(self, request: Message) -> list[Message]:
        """Send one request and await its observations, or SandboxError."""
        program: Message | None = request.get("program")
        if program and self.knows(program):
            # The program travels once; afterwards its hash stands for it.
            reply = await self._exchange(request | {"program": {"hash": program["hash"]}})
            if "unknown" not in reply:
                return _read(reply)
        reply = await self._exchange(request)
        if program:
            self._known[program["hash"]] = None
            if len(self._known) > _KNOWN:
                del self._known[next(iter(self._known))]
        return _read(reply)

    def forget_session(self, session: int) -> None:
        """Let the driver drop a session, without waiting for it."""
        self.sessions -= 1
        if not self.death:
            self._write({"id": 0, "op": "close", "session": session})

    async def close(self) -> None:
        """Kill the driver; every process below dies with it."""
        self._end("The sandbox was closed.")
        if self._transport:
            self._transport.abort()
        if self._process:
            await asyncio.to_thread(self._process.wait)
            await asyncio.to_thread(cgroups.remove, self._process.pid)
        # The transport closes its socket in the loop's next turn.
        await asyncio.sleep(0)

    async def _exchange(self, request: Message) -> Message:
        if self.death:
            raise SandboxError(f"{self.death} {_MEND}")
        number = next(self._numbers)
        answer: asyncio.Future[Message] = self._loop.create_future()
        self._write({"id": number, **request})
        if not self._waiting:
            # Time in which nothing was due is no silence of the driver's: this process may have
            # judged for minutes since its last reply.
            self._heard = self._loop.time()
        self._waiting[number] = answer
        if self._watch is None:
            self._watch = self._loop.call_later(SILENCE, self._check_silence)
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def _write(self, request: Message) -> None:
        try:
            frame = encode(request)
        except (TypeError, ValueError, BadFrame) as error:
            raise BuildError(
                f"A state, call or program cannot be sent to the jail: {error}. Make it smaller, "
                "and plain JSON."
            ) from None
        if self._transport:
            self._transport.write(frame)

    def _check_silence(self) -> None:
        """An idle driver may be silent as long as it likes."""
        self._watch = None
        if not self._waiting:
            return
        left = self._heard + SILENCE - self._loop.time()
        if left <= 0:
            self._end("The sandbox's driver died (TimeoutError).")
        else:
            self._watch = self._loop.call_later(left, self._check_silence)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        if (
            not self._buffer
            and len(data) > 4
            and len(data) == 4 + int.from_bytes(data[:4], "little")
        ):
            self._handle(data[4:])
            return
        self._buffer += data
        try:
            while len(self._buffer) >= 4 and len(self._buffer) >= (
                end := 4 + frame_length(bytes(self._buffer[:4]))
            ):
                payload = bytes(self._buffer[4:end])
                del self._buffer[:end]
                self._handle(payload)
        except BadFrame as error:
            self._end(f"The sandbox's driver died ({error}).")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"The sandbox's driver died ({type(exc).__name__ if exc else 'EOFError'}).")

    def _handle(self, payload: bytes) -> None:
        try:
            reply = decode(payload)
        except BadFrame as error:
            self._end(f"The sandbox's driver died ({error}).")
            return
        if "fatal" in reply:
            self._end(f"The sandbox's driver broke: {reply['fatal']}")
            return
        for leak in reply.get("leaks", ()):
            _LOG.warning(_LEAK, leak["program"], leak["step"])
        answer = self._hello if "layers" in reply else self._waiting.get(reply.get("id", 0))
        if answer and not answer.done():
            answer.set_result(reply)

    def _end(self, death: str) -> None:
        self.death = self.death or death
        if self._process:
            self._process.kill()
        if self._watch:
            self._watch.cancel()
            self._watch = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(SandboxError(f"{self.death} {_MEND}"))
        if not self._hello.done():
            self._hello.set_exception(
                SandboxError(f"The sandbox's driver did not start: {self.death} {_MEND}")
            )
            self._hello.exception()  # nobody may be waiting any more


def _read(reply: Message) -> list[Message]:
    if "broken" in reply:
        raise SandboxError(f"{reply['broken']} {_MEND}")
    if "unknown" in reply:
        raise SandboxError(f"The driver does not know {reply['unknown']}. {_MEND}")
    return reply["observations"]
