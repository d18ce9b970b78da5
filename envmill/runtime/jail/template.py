"""A template as the driver holds it: one jailed, compiled program, and the sessions that are forked
from it.

take ──► a used process that may be reset in place, or a spare, or a fork
give back ──► tried out (see `ladder`), then kept for the next episode or killed
"""

import os
import socket
import time
from collections import deque
from functools import partial

from envmill.runtime.jail.loop import CONSTRUCT
from envmill.runtime.jail.process import JailedProcess, lay
from envmill.runtime.jail.reset_policy import EPISODES, EpisodeLog, ResetPolicy, is_drawn
from envmill.runtime.jail.state_cache import KnownStates
from envmill.runtime.jail.wire import (
    FORK,
    BadFrame,
    Channel,
    Closed,
    Message,
    Overdue,
    send_with_fds,
)
from envmill.runtime.program import SCHEMA

WARM = 4
"""Used processes of one program kept for its next episodes: 2 MB each."""

MET = 32
"""States remembered as met once: who starts one scenario again and again pays for it once."""


TRUSTED = 20.0
"""Seconds that a process which runs our code alone is waited for: machines short of processor or
disk stall longer than a call may take."""


class SandboxBroken(Exception):
    """The sandbox itself failed; no program is to blame."""


class Template:
    """A compiled program, or the fault that kept it from compiling."""

    def __init__(
        self, process: JailedProcess, control: socket.socket, standing: ResetPolicy
    ) -> None:
        self._process = process
        self._control = control
        self._warm: list[JailedProcess] = []
        self._spares: list[JailedProcess] = []
        self._returned: deque[tuple[JailedProcess, EpisodeLog]] = deque()
        self._doubted: deque[EpisodeLog] = deque(maxlen=WARM)
        self._keys = KnownStates()
        self._met: deque[str] = deque(maxlen=MET)
        self.standing = standing
        self.fault = ""
        self.rolls_back = False
        """Its state is a database's: what was done to it is undone whatever its size."""
        self.live = 0
        """Open sessions that were forked from it: it must outlive them."""
        self.taken = 0
        """How often a fresh process was asked for."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> int:
        """Processes it holds that serve no session."""
        return len(self._warm) + len(self._spares) + len(self._returned)

    def compile(self, program: Message) -> None:
        """Compile the program in the jail. A compiler that hangs or dies is the program's fault."""
        self.rolls_back = SCHEMA in program.get("files", ())
        if not ask(self._process.channel, None, TRUSTED).get("ready"):
            raise SandboxBroken("A jailed process did not report itself ready.")
        try:
            answer = ask(self._process.channel, program, CONSTRUCT)
            self.fault = str(answer.get("fault", "no answer"))
            if answer.get("unsettled"):
                self.standing.refute()
        except SandboxBroken:
            self.fault = (
                f"The program's source broke the compiler, or took it longer than {CONSTRUCT:g} s."
            )

    def teach(self, step: Message) -> None:
        """Have it keep the state of a reset that is met again, for all sessions forked from here
        on."""
        key = step.get("key")
        if not key or key in self._keys:
            return
        if key not in self._met:
            self._met.append(key)
        elif ask(self._process.channel, step, TRUSTED)["learned"]:
            self._keys.put(key, large=step.get("large", False))

    def take_used(self) -> JailedProcess | None:
        """A process to be reset in place, where there is one and the program's standing allows
        it."""
        while self.standing.verdict == "proven" and self._warm:
            inmate = self._warm.pop()
            if inmate.is_alive():
                self.live += 1
                return inmate
            inmate.kill()
        return None

    def take_fresh(self) -> JailedProcess:
        """A process that has played nothing."""
        self.taken += 1
        while self._spares:
            inmate = self._spares.pop()
            if inmate.is_alive():
                self.live += 1
                return inmate
            inmate.kill()
        inmate = self._fork()
        self.live += 1
        return inmate

    def give_back(self, inmate: JailedProcess, tape: EpisodeLog | None) -> None:
        """A session ended. Without a tape, or after a failure, its process ends, too."""
        self.live -= 1
        if tape:
            self.doubt(tape)
        if (
            tape is None
            or tape.failed
            or self.standing.verdict == "refuted"
            or not inmate.is_alive()
        ):
            inmate.kill()
        elif self.standing.verdict == "proven" and inmate.episodes < EPISODES:
            self._keep(inmate)
        elif len(self._returned) < WARM:
            self._returned.append((inmate, tape))
        else:
            inmate.kill()

    def doubt(self, tape: EpisodeLog) -> None:
        """An episode ended. If it was reset in place, chance decides whether a fresh process plays
        it again."""
        if (
            self.standing.verdict == "proven"
            and not tape.fresh
            and is_drawn()
            and tape.can_be_repeated()
        ):
            self._doubted.append(tape)

    def try_out(self) -> None:
        """Try the processes that came back, and play doubted episodes again; to be done while
        nobody waits."""
        while self._doubted:
            inmate, tape = self.take_fresh(), self._doubted.popleft()
            self.standing.repeat(inmate, tape)
            self.give_back(inmate, None)
        while self._returned:
            inmate, tape = self._returned.popleft()
            self.standing.learn(tape)
            self.standing.try_out(inmate)
            if self.standing.verdict == "proven" and inmate.episodes < EPISODES:
                self._keep(inmate)
            else:
                inmate.kill()

    def prepare(self) -> None:
        """Fork the next session ahead. The first use of a template promises no second."""
        if self.taken > 1 and not self._spares:
            self._spares.append(self._fork())

    def check(self) -> None:
        """Raise Broken when the template is gone: its sessions died with it, and none of them is to
        blame."""
        if not self._process.is_alive():
            raise SandboxBroken("A template died, and its sessions with it.")

    def drain(self) -> None:
        """Let go of every process that serves no session."""
        for inmate in (*self._warm, *self._spares, *(returned for returned, _ in self._returned)):
            inmate.kill()
        self._warm, self._spares = [], []
        self._returned.clear()

    def close(self) -> None:
        self.drain()
        self._process.kill()

    def _keep(self, inmate: JailedProcess) -> None:
        if len(self._warm) < WARM:
            self._warm.append(inmate)
        else:
            inmate.kill()

    def _fork(self) -> JailedProcess:
        mine, theirs = lay()
        try:
            send_with_fds(self._control, FORK, theirs)
            return JailedProcess(
                ask(self._process.channel, None, TRUSTED)["pid"],
                Channel(mine[0], into=mine[1]),
                partial(_close, mine),
                self._keys.copy(),
            )
        except (Closed, OSError) as error:
            _close(mine)
            raise SandboxBroken(f"A session could not be started: {error}.") from None
        except SandboxBroken:
            _close(mine)
            raise
        finally:
            _close(theirs)


def _close(ends: tuple[int, int]) -> None:
    for end in ends:
        os.close(end)


def ask(channel: Channel, message: Message | None, seconds: float) -> Message:
    """What a trusted process of the sandbox answers, or Broken."""
    try:
        if message is not None:
            channel.send(message)
        return channel.receive(time.monotonic() + seconds)
    except (Closed, Overdue, BadFrame) as error:
        raise SandboxBroken(f"A process of the sandbox did not answer: {error}.") from None
