"""The loop of a forked session: a list of steps comes in, observations go out, until the socket
closes.

Observations are kept back and sent together. They are sent before and after a construction, and
before a step that begins 100 ms after the last frame: so the driver, which waits `HARD` seconds for
a frame, never waits for two slow steps at once.
"""

import gc
import os
import time
from collections.abc import Sequence

from envmill.runtime.canonical import NotJson
from envmill.runtime.interface import Interface
from envmill.runtime.jail import diagnosis, interpreter_check, wire
from envmill.runtime.jail.deadline import Deadline, TimeUp
from envmill.runtime.jail.fragments import make_fragment
from envmill.runtime.jail.operations import (
    CONSTRUCTIVE,
    LOOKS,
    OPERATIONS,
    PATIENT,
    SOILED,
    call,
    read,
)
from envmill.runtime.jail.state_cache import StateCache
from envmill.runtime.jail.wire import CHUNK, BadFrame, Channel, Closed, Message, render
from envmill.runtime.program import ProgramFault, ProgramImporter
from envmill.runtime.session import Reply, Session, ToolEntry, fail, quote

SOFT = 1.0
"""Seconds of processor time a call may take before it is interrupted; the session lives on."""
HARD = 2.0
"""Seconds of processor time without a frame after which the driver kills."""
CONSTRUCT = 10.0
"""Seconds of processor time for importing and constructing."""
_PROGRESS = 0.1
_FRAME = 256 * 1024
"""Observations kept back, in bytes; a frame must stay far below the wire's limit."""
_GARBAGE = 20_000
"""Containers made since the last sweep, above which a reset sweeps: the collector is off while
tools run."""
# Kept from before the clock becomes virtual.
_monotonic = time.monotonic


class SessionLoop:
    """Serves one session until the driver closes its end."""

    def __init__(
        self, channel: Channel, source: ProgramImporter, tools: Sequence[ToolEntry] | Interface
    ) -> None:
        self.channel = channel
        self._session = Session(
            source.load, tools, schema=source.schema, fragment=make_fragment if wire.embed else None
        )
        self._deadline = Deadline()
        self._stock = StateCache()
        self._unbuilt: Reply | None = fail(
            "session_lost", "There is no session yet: reset it first."
        )
        self._kept: list[bytes] = []
        self._weight = 0
        self._sequence = 0
        self._sent = 0.0
        self._diagnosed = False

    def prepare(self) -> None:
        """What is inherited across the fork, and costs a session pages of its own when it is done
        in there."""
        self._deadline.install()
        gc.disable()

    def learn(self, step: Message) -> None:
        """Keep the state of a reset for every session that will be forked from here."""
        self._stock.learn(step)

    def serve(self, channel: Channel) -> None:
        """Play message after message. Ends the process."""
        self.channel = channel
        self._diagnosed = diagnosis.is_on()
        try:
            while True:
                self._play_next(self.channel.receive())
        except (Closed, BadFrame):
            os._exit(0)

    def _play_next(self, message: Message) -> None:
        # A call of its own, so that no message, which may hold a whole state, is kept until the
        # next one comes.
        self.play(message["seq"], message["steps"], message.get("hashes", "each"))

    def play(self, sequence: int, steps: list[Message], hashes: str = "each") -> None:
        """Play steps. `hashes` says after which of them the state is hashed: `each`, the `last`, or
        `none`."""
        self._sequence = sequence
        last = len(steps) - 1
        if not last:
            self._play_alone(steps[0], hashed=hashes != "none")
            return
        self._sent = _monotonic()
        each, end = hashes == "each", last if hashes == "last" else -1
        for place, step in enumerate(steps):
            name = step["op"]
            slow = name != "call" and (
                name in CONSTRUCTIVE or (name in LOOKS and self._session.is_large())
            )
            if self._kept and (
                slow or self._weight > _FRAME or _monotonic() - self._sent > _PROGRESS
            ):
                self._send(done=False)
            rendered = self._render(self._observe(step, each or place == end))
            self._kept.append(rendered)
            self._weight += len(rendered)
            if slow and place < last:
                self._send(done=False)
        self._send(done=True)

    def _play_alone(self, step: Message, *, hashed: bool) -> None:
        """One step in a message of its own, as an agent's turn sends it: the same frame, in as few
        words as can be."""
        rendered = self._render(self._observe(step, hashed))
        if len(rendered) > CHUNK:
            self._kept, self._weight = [rendered], len(rendered)
            self._send(done=True)
            return
        payload = b'{"seq":%d,"done":true,"observations":[%b]}' % (self._sequence, rendered)
        self.channel.write(len(payload).to_bytes(4, "little") + payload)

    def _render(self, observation: Message) -> bytes:
        if self._diagnosed and (denied := diagnosis.drain()):
            # Without a layer to say so, a program hides it: libraries swallow a refusal and try
            # something else.
            message = f"{observation.get('message', '')} [denied: {', '.join(denied)}]".lstrip()
            observation = observation | {"denied": denied, "message": message}
        try:
            return render(observation)
        except (BadFrame, ValueError, TypeError) as error:
            return render(
                read(fail("bad_reply", f"{type(error).__name__}: what came out is not JSON"))
            )

    def _send(self, *, done: bool) -> None:
        head = b'{"seq":%d,"done":%s,"observations":[' % (
            self._sequence,
            b"true" if done else b"false",
        )
        # One copy of it all: an observation may hold a state.
        length = len(head) + self._weight + len(self._kept) + 1
        frame = b"".join((length.to_bytes(4, "little"), head, b",".join(self._kept), b"]}"))
        self._kept.clear()
        self._weight = 0
        self.channel.write(frame)
        self._sent = _monotonic()

    def _observe(self, step: Message, hashed: bool) -> Message:
        """Run one step under its soft deadline; whatever it does, an observation comes of it."""
        seconds = CONSTRUCT if step["op"] in PATIENT else SOFT
        try:
            self._deadline.begin(seconds)
            return self._run(step, hashed)
        except TimeUp:
            return self._failed(
                step, "timeout", f"It took longer than {seconds:g} s and was interrupted."
            )
        except NotJson as fault:
            return self._failed(step, "bad_state", f"The state is not JSON {fault}.")
        except ProgramFault as fault:
            return self._failed(step, "build", str(fault))
        except BaseException as error:  # noqa: BLE001  # SystemExit and worse are one failed call, too
            return self._failed(step, "crash", quote(error))
        finally:
            self._deadline.end()

    def _run(self, step: Message, hashed: bool) -> Message:
        name = step["op"]
        if name in CONSTRUCTIVE:
            return self._construct(name, step, hashed)
        if self._unbuilt is not None:
            return read(self._unbuilt)
        observation = (
            call(self._session, step) if name == "call" else OPERATIONS[name](self._session, step)
        )
        if hashed:
            observation["state_hash"] = self._session.state_hash()
        return observation

    def _construct(self, name: str, step: Message, hashed: bool) -> Message:
        if "settle" in step and (changed := self._settle()):
            return self._failed(step, SOILED, f"The program changed {changed}.")
        if name == "reset":
            step = step | {"state": self._stock.fetch(step), "checked": hashed}
        observation = OPERATIONS[name](self._session, step)
        if name != "load":
            self._unbuilt = None
        if hashed and self._unbuilt is None:
            observation["state_hash"] = self._session.state_hash()
        return observation

    def _settle(self) -> str:
        """Before a reset in place: what is not as it was in the interpreter, apart from the
        program."""
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()
        return interpreter_check.find_changed()

    def _failed(self, step: Message, code: str, message: str) -> Message:
        reply = fail(code, message)
        if step["op"] in ("reset", "restore"):
            self._unbuilt = reply
        return read(reply)
