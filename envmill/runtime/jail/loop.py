"""The loop of a forked session: a list of steps comes in, observations go out, until the socket closes.

Observations are kept back and sent together. They are sent before and after a reset, and before a step that begins
100 ms after the last frame: so the driver, which waits `HARD` seconds for a frame, never waits for two slow steps at once.
"""

import os
import signal
import time
from types import FrameType

from envmill.runtime.canonical import NotJson
from envmill.runtime.jail.wire import BadFrame, Channel, Closed, Message, encode
from envmill.runtime.program import ProgramFault, Source
from envmill.runtime.session import Reply, Session, ToolEntry, fail, quote

SOFT = 1.0
"""Seconds a call may take before it is interrupted; the session lives on."""
HARD = 2.0
"""Seconds without a frame after which the driver kills."""
CONSTRUCT = 10.0
"""Seconds for importing and constructing."""
_PROGRESS = 0.1
_FRAME = 256 * 1024
"""Observations kept back, in bytes; a frame must stay far below the wire's limit."""
# Kept from before the clock becomes virtual.
_monotonic = time.monotonic
_setitimer = signal.setitimer


class TimeUp(BaseException):
    """The soft deadline passed. No Exception, so that a tool's `except Exception` does not swallow it."""


class Loop:
    """Serves one session until the driver closes its end."""

    def __init__(self, channel: Channel, source: Source, tools: list[ToolEntry]) -> None:
        self._channel = channel
        self._session = Session(source.load, tools)
        self._armed = False
        self._unbuilt: Reply | None = fail("session_lost", "There is no session yet: reset it first.")
        self._kept: list[bytes] = []
        self._sequence = 0
        self._sent = 0.0

    def serve(self) -> None:
        signal.signal(signal.SIGALRM, self._interrupt)
        try:
            while True:
                message = self._channel.receive()
                self._play(message["seq"], message["steps"])
        except (Closed, BadFrame):
            os._exit(0)

    def _play(self, sequence: int, steps: list[Message]) -> None:
        self._sequence, self._sent = sequence, _monotonic()
        for step in steps:
            slow = step["op"] in ("reset", "load")
            if self._kept and (slow or self._stale()):
                self._send(done=False)
            self._keep(self._observe(step))
            if slow and len(steps) > 1:
                self._send(done=False)
        self._send(done=True)

    def _stale(self) -> bool:
        return _monotonic() - self._sent > _PROGRESS or sum(map(len, self._kept)) > _FRAME

    def _keep(self, observation: Message) -> None:
        try:
            self._kept.append(encode(observation)[4:])
        except (BadFrame, ValueError, TypeError) as error:
            self._kept.append(encode(_observation(fail("bad_reply", f"{type(error).__name__}: what came out is not JSON")))[4:])

    def _send(self, *, done: bool) -> None:
        head = f'{{"seq":{self._sequence},"done":{"true" if done else "false"},"observations":['.encode()
        payload = head + b",".join(self._kept) + b"]}"
        self._kept.clear()
        self._channel.write(len(payload).to_bytes(4, "little") + payload)
        self._sent = _monotonic()

    def _observe(self, step: Message) -> Message:
        """Run one step under its soft deadline; whatever it does, an observation comes of it."""
        seconds = CONSTRUCT if step["op"] in ("reset", "load") else SOFT
        try:
            self._armed = True
            _setitimer(signal.ITIMER_REAL, seconds)
            return self._run(step)
        except TimeUp:
            return self._failed(step, "timeout", f"It took longer than {seconds:g} s and was interrupted.")
        except NotJson as fault:
            return self._failed(step, "bad_state", f"The state is not JSON {fault}.")
        except ProgramFault as fault:
            return self._failed(step, "build", str(fault))
        except BaseException as error:  # noqa: BLE001  # SystemExit and worse are one failed call, too
            return self._failed(step, "crash", quote(error))
        finally:
            self._armed = False
            _setitimer(signal.ITIMER_REAL, 0)

    def _run(self, step: Message) -> Message:
        operation = step["op"]
        if operation == "load":
            self._session.inspect()
            return _observation({"ok": True, "outcome": "ok", "parts": []})
        if operation == "reset":
            self._session.reset(step["state"], step["clock"], step["seed"])
            self._unbuilt = None
        if self._unbuilt is not None:
            return _observation(self._unbuilt)
        reply: Reply = {"ok": True, "outcome": "ok", "parts": []}
        state: str | None = None
        if operation == "call":
            reply = self._session.call(step["name"], step["arguments"], step["actor"])
        elif operation == "advance":
            self._session.advance(step["seconds"])
        elif operation == "look":
            state = self._session.spelled_state().decode()
        return _observation(reply, self._session.state_hash(), state)

    def _failed(self, step: Message, code: str, message: str) -> Message:
        reply = fail(code, message)
        if step["op"] == "reset":
            self._unbuilt = reply
        return _observation(reply)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        # A late signal, after the step ended, must not reach our own code.
        if self._armed:
            self._armed = False
            raise TimeUp


def _observation(reply: Reply, state_hash: str = "", state: str | None = None) -> Message:
    error = reply.get("error", {"code": "", "message": ""})
    return {
        "outcome": reply["outcome"],
        "parts": reply.get("parts", []),
        "code": error["code"],
        "message": error["message"],
        "state_hash": state_hash,
        "state": state,
    }
