"""The driver's hold on a jailed process: its pid without the race, its socket, and the deadline on every answer."""

import contextlib
import os
import select
import signal
import socket
import struct
import time

from envmill.runtime.jail.loop import CONSTRUCT, HARD
from envmill.runtime.jail.wire import BadFrame, Channel, Closed, Message, Overdue

_TICK = struct.pack("@ll", 0, 250_000)
"""How often a blocked read looks at its deadline: a socket option, so a read in time costs no extra system call."""
_PATIENCE = struct.pack("@ll", int(HARD), 0)


class Died(Exception):
    """The process is gone or was killed. Observations that arrived before are kept."""

    def __init__(self, code: str, message: str, arrived: list[Message]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.arrived = arrived


def connect() -> tuple[socket.socket, socket.socket]:
    """The driver's end, with its time-outs, and the end to hand over."""
    mine, theirs = socket.socketpair()
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TICK)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
    return mine, theirs


class Inmate:
    """One jailed process."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        self._pidfd = os.pidfd_open(pid)
        self._end = end
        self.channel = Channel(end.fileno())
        # A random start: a frame that a tool writes by itself does not know the number that is due.
        self._sequence = int.from_bytes(os.urandom(6), "little")

    def play(self, steps: list[Message], until: float) -> list[Message]:
        """Send steps, gather their observations. Anything but exactly those, in time, kills the process: Died."""
        arrived: list[Message] = []
        self._sequence += 1
        try:
            self.channel.send({"seq": self._sequence, "steps": steps})
            done = False
            while not done:
                done = self._gather(steps, arrived, until)
        except Overdue:
            raise self._died("timeout", f"It did not answer within {HARD:g} s and was killed.", arrived) from None
        except Closed:
            raise self._died("killed", "The process ended by itself.", arrived) from None
        except (BadFrame, KeyError, TypeError) as error:
            raise self._died("killed", f"It sent what it was not asked for and was killed: {error}.", arrived) from None
        return arrived

    def _gather(self, steps: list[Message], arrived: list[Message], until: float) -> bool:
        # A session sends what it has before a reset, so the next step tells how long this frame may take.
        following = steps[len(arrived)]["op"] if len(arrived) < len(steps) else ""
        patience = HARD + (CONSTRUCT if following in ("reset", "load") else 0)
        frame = self.channel.receive(min(time.monotonic() + patience, until))
        if frame["seq"] != self._sequence:
            raise BadFrame("a frame out of turn")
        arrived += frame["observations"]
        if len(arrived) > len(steps) or (frame["done"] and (len(arrived) < len(steps) or self.channel.surplus)):
            raise BadFrame("more or fewer observations than steps")
        return bool(frame["done"])

    def _died(self, code: str, message: str, arrived: list[Message]) -> Died:
        self.kill()
        return Died(code, message, arrived)

    def is_alive(self) -> bool:
        """Whether the process still runs; a pidfd turns readable at its end."""
        watch = select.poll()
        watch.register(self._pidfd, select.POLLIN)
        return not watch.poll(0)

    def kill(self) -> None:
        """Kill and let go; harmless when it is dead already."""
        if self._pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        os.close(self._pidfd)
        self._pidfd = -1
        self._end.close()
