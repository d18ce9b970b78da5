"""The driver's hold on a jailed process: its pid without the race, its socket, and the deadline on
every answer."""

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable

from envmill.runtime.jail.allowance import ALLOWANCE, DEEPEST, SMALL
from envmill.runtime.jail.claims import check, check_depth
from envmill.runtime.jail.deadline import PATIENCE
from envmill.runtime.jail.deadline_timer import TICK, VIGIL
from envmill.runtime.jail.loop import CONSTRUCT, HARD
from envmill.runtime.jail.operations import PATIENT, WIDE
from envmill.runtime.jail.patrol import PATROL, PatrolledSession
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.state_cache import KnownStates
from envmill.runtime.jail.wire import LIMIT, NARROW, BadFrame, Channel, Closed, Message, Overdue

_TICK = struct.pack("@ll", 0, round(TICK * 1e6))
"""How often a blocked read looks at its deadline: a socket option, so a read in time costs no extra
system call."""
_PATIENCE = struct.pack("@ll", int(PATIENCE * HARD), 0)
_monotonic = time.monotonic
VIGIL.on_ring = PATROL.stop_others


class ProcessDied(Exception):
    """The process is gone or was killed. Observations that arrived before are kept."""

    def __init__(
        self, code: str, message: str, arrived: list[Message], *, by_itself: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.arrived = arrived
        self.by_itself = by_itself
        """Whether it was gone without our doing: by its own, or by somebody else's hand."""


def connect() -> tuple[socket.socket, socket.socket]:
    """A socket to a template: the driver's end, with its time-outs, and the end to hand over."""
    mine, theirs = socket.socketpair()
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TICK)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
    return mine, theirs


def lay() -> tuple[tuple[int, int], tuple[int, int]]:
    """Two pipes to a session: where the driver reads and writes, and where the session does. A
    round takes two thirds of a socket's."""
    mine, write = os.pipe()
    read, into = os.pipe()
    return (mine, into), (read, write)


class JailedProcess:
    """One jailed process."""

    def __init__(
        self, pid: int, channel: Channel, close: Callable[[], None], keys: KnownStates | None = None
    ) -> None:
        self._pidfd = os.pidfd_open(pid)
        self._close = close
        self.pid = pid
        self.channel = channel
        channel.examine, channel.unexamined = ALLOWANCE.spend, SMALL
        self.episodes = 0
        """How many it has begun."""
        self._keys = keys or KnownStates()
        self._reading = StateReading()
        self._session = PatrolledSession(pid, self._pidfd)
        self.took = 0.0
        """Seconds of the last wait for answers."""
        self.heard = 0
        """Bytes of memory, about, that its last answers take."""
        # A random start: a frame that a tool writes by itself does not know the number that is due.
        self._sequence = int.from_bytes(os.urandom(6), "little")

    def play(self, steps: list[Message], until: float, hashes: str = "each") -> list[Message]:
        """Send steps, gather their observations. Anything but exactly those, in time, kills the
        process: Died."""
        arrived: list[Message] = []
        self._sequence += 1
        # A call alone is asked for first: all() takes longer than the rest of the line.
        narrow = (len(steps) == 1 and steps[0]["op"] == "call") or all(
            step["op"] not in WIDE for step in steps
        )
        session, start, cost = self._session, _monotonic(), ALLOWANCE.cost
        PATROL.waited = session
        if not session.awake:
            session.wake()
        try:
            try:
                VIGIL.keep(_wait(steps[0]["op"]), until, session.clock)
                self.channel.send(
                    {"seq": self._sequence, "hashes": hashes, "steps": self._shorten(steps)}
                )
                while not self._gather(steps, arrived, NARROW if narrow else LIMIT):
                    following = steps[len(arrived)]["op"] if len(arrived) < len(steps) else ""
                    VIGIL.keep(_wait(following), until, session.clock)
            finally:
                VIGIL.dismiss()
                PATROL.waited = None
                self.took = _monotonic() - start
                session.waited += self.took
                self.heard = ALLOWANCE.cost - cost
                if session.suspect:
                    session.stop()
        except Overdue:
            raise self._died(
                "timeout", f"It did not answer within {HARD:g} s and was killed.", arrived
            ) from None
        except Closed:
            raise self._died(
                "killed", "The process ended by itself.", arrived, by_itself=True
            ) from None
        except (BadFrame, KeyError, TypeError, MemoryError) as error:
            raise self._died(
                "killed", f"It sent what it was not asked for and was killed: {error}.", arrived
            ) from None
        return arrived

    def _shorten(self, steps: list[Message]) -> list[Message]:
        """The steps, without the states this process has in stock."""
        if len(steps) == 1 and "key" not in steps[0]:
            return steps
        return [self._name_state(step) if step.get("key") else step for step in steps]

    def _name_state(self, step: Message) -> Message:
        if self._keys.holds(step["key"]):
            named = step.copy()
            named.pop("state", None)
            return named
        self._keys.put(step["key"], large=step.get("large", False))
        return step

    def _gather(self, steps: list[Message], arrived: list[Message], limit: int) -> bool:
        frame = self.channel.receive(limit=limit)
        if frame["seq"] != self._sequence:
            raise BadFrame("a frame out of turn")
        if ALLOWANCE.brackets > DEEPEST:
            ALLOWANCE.brackets = 0
            check_depth(frame["observations"])
        observations = check(frame["observations"], self._reading)
        if not observations:
            # Each frame begins the wait anew.
            raise BadFrame("a frame without observations")
        done: bool = frame["done"]
        have = len(arrived) + len(observations)
        # Before any of them counts as arrived.
        if have > len(steps) or (done and (have < len(steps) or self.channel.surplus)):
            raise BadFrame("more or fewer observations than steps")
        arrived += observations
        return done

    def _died(
        self, code: str, message: str, arrived: list[Message], *, by_itself: bool = False
    ) -> ProcessDied:
        self.kill()
        return ProcessDied(code, message, arrived, by_itself=by_itself)

    def is_alive(self) -> bool:
        """Whether the process still runs; a pidfd turns readable at its end."""
        if self._pidfd < 0:
            return False
        watch = select.poll()
        watch.register(self._pidfd, select.POLLIN)
        return not watch.poll(0)

    def kill(self) -> None:
        """Kill and let go; harmless when it is dead already."""
        if self._pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._session.leave()
        os.close(self._pidfd)
        self._pidfd = -1
        self._close()


def _wait(following: str) -> float:
    """Seconds until the next frame is late. A session sends what it has before it constructs, so
    the next step tells."""
    return HARD + CONSTRUCT if following in PATIENT else HARD
