"""The flow process's end of one driver: start it, ask it, notice its death."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from envmill.errors import BuildError, SandboxError
from envmill.runtime.jail.wire import BadFrame, Message, adopt_codec, decode, encode, frame_length
from envmill.settings import ROOT

_CODEC = "orjson"
"""On both ends: a batch of calls takes a third less time than with the standard library's JSON."""
SILENCE = 90.0
"""Seconds without a reply, while one is due, after which a driver counts as hung: a plan's budget and half of it."""
_MEND = "Nothing is known about the items concerned: retry them."


class Link:
    """A running driver. One that died stays dead; the sandbox then makes another."""

    def __init__(self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._numbers = count(1)
        self._listener: asyncio.Task[None] | None = None
        self.layers: dict[str, bool] = {}
        self.death = ""
        """Why the driver is dead; empty while it lives."""

    @classmethod
    async def start(cls, hash_seed: int, without: Collection[str]) -> "Link":
        """Exec a driver and wait for its first word."""
        adopt_codec(_CODEC)
        mine, theirs = socket.socketpair()
        process = _launch(theirs, hash_seed, without)
        theirs.close()
        link = cls(process, *await asyncio.open_connection(sock=mine))
        try:
            hello = await asyncio.wait_for(link._read(), SILENCE)
            if "fatal" in hello:
                raise SandboxError(f"The sandbox's driver did not start: {hello['fatal']}")
        except BaseException as error:
            await link.close()
            if isinstance(error, OSError | EOFError | BadFrame):
                raise SandboxError(f"The sandbox's driver did not start ({error!r}). {_MEND}") from None
            raise
        link.layers = hello["layers"]
        link._listener = asyncio.create_task(link._listen())
        return link

    async def ask(self, request: Message) -> list[Message]:
        """Send one request and await its observations, or SandboxError."""
        if self.death:
            raise SandboxError(f"{self.death} {_MEND}")
        number = next(self._numbers)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._writer.write(_frame({"id": number, **request}))
            reply = await answer
        finally:
            self._waiting.pop(number, None)
        if "broken" in reply:
            raise SandboxError(f"{reply['broken']} {_MEND}")
        return reply["observations"]

    def forget_session(self, session: int) -> None:
        """Let the driver drop a session, without waiting for it."""
        if not self.death:
            self._writer.write(_frame({"id": 0, "op": "close", "session": session, "program": {"hash": ""}, "steps": []}))

    async def close(self) -> None:
        """Kill the driver; every process below dies with it."""
        self._end("The sandbox was closed.")
        if self._listener:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)

    async def _read(self) -> Message:
        header = await self._reader.readexactly(4)
        return decode(await self._reader.readexactly(frame_length(header)))

    async def _listen(self) -> None:
        try:
            while True:
                # An idle driver may be silent as long as it likes.
                reply = await self._read_in_time()
                if "fatal" in reply:
                    return self._end(f"The sandbox's driver broke: {reply['fatal']}")
                answer = self._waiting.get(reply["id"])
                if answer and not answer.done():
                    answer.set_result(reply)
        except (OSError, EOFError, BadFrame, KeyError) as error:
            self._end(f"The sandbox's driver died ({type(error).__name__}).")

    async def _read_in_time(self) -> Message:
        reading = asyncio.ensure_future(self._read())
        try:
            while True:
                done, _ = await asyncio.wait((reading,), timeout=SILENCE)
                if done:
                    return reading.result()
                if self._waiting:
                    raise TimeoutError
        finally:
            reading.cancel()

    def _end(self, death: str) -> None:
        self.death = self.death or death
        self._process.kill()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(SandboxError(f"{self.death} {_MEND}"))


def _launch(theirs: socket.socket, hash_seed: int, without: Collection[str]) -> subprocess.Popen[bytes]:
    # -I and -E would make Python ignore PYTHONHASHSEED; a clean explicit environment does their work.
    libraries = Path(orjson.__file__).parents[1]
    environment = {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{ROOT}:{libraries}",
    }  # fmt: skip
    # The kernel signals the death of the parent *thread*: only the main thread lives as long as the process.
    guard = threading.current_thread() is threading.main_thread()
    config: dict[str, Any] = {"parent": os.getpid(), "guard": guard, "core": _pick_core(), "codec": _CODEC, "without": sorted(without)}
    return subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-B", "-m", "envmill.runtime.jail.driver", str(theirs.fileno()), orjson.dumps(config).decode()],
        pass_fds=[theirs.fileno()], env=environment, cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _pick_core() -> int:
    cores = sorted(os.sched_getaffinity(0))
    return cores[os.getpid() % len(cores)]


def _frame(request: Message) -> bytes:
    try:
        return encode(request)
    except (TypeError, ValueError, BadFrame) as error:
        raise BuildError(f"A state, call or program cannot be sent to the jail: {error}. Make it smaller, and plain JSON.") from None
