"""Templates as the driver holds them: one jailed, compiled program each, kept for the next session of the same program."""

import socket
import time
from collections import OrderedDict

from envmill.runtime.jail.inmate import Inmate, connect
from envmill.runtime.jail.loop import CONSTRUCT, HARD
from envmill.runtime.jail.wire import BadFrame, Channel, Closed, Message, Overdue, send_with_fd

KEPT = 32
"""Templates kept at once: 5-10 MB each."""


class Broken(Exception):
    """The sandbox itself failed; no program is to blame."""


class Template:
    """A compiled program, or the fault that kept it from compiling."""

    def __init__(self, process: Inmate, control: socket.socket) -> None:
        self._process = process
        self._control = control
        self.fault = ""
        self.live = 0
        """Sessions that hang on it: it must outlive them."""

    def compile(self, program: Message) -> None:
        """Compile the program in the jail. A compiler that hangs or dies is the program's fault."""
        if not _ask(self._process.channel, None, HARD).get("ready"):
            raise Broken("A jailed process did not report itself ready.")
        try:
            self.fault = str(_ask(self._process.channel, program, CONSTRUCT).get("fault", "no answer"))
        except Broken:
            self.fault = f"The program's source broke the compiler, or took it longer than {CONSTRUCT:g} s."

    def fork(self) -> Inmate:
        """A fresh session."""
        mine, theirs = connect()
        try:
            send_with_fd(self._control, {"op": "fork"}, theirs.fileno())
            inmate = Inmate(_ask(self._process.channel, None, HARD)["pid"], mine)
        except (Closed, OSError) as error:
            mine.close()
            raise Broken(f"A session could not be started: {error}.") from None
        finally:
            theirs.close()
        self.live += 1
        return inmate

    def check(self) -> None:
        """Raise Broken when the template is gone: its sessions died with it, and none of them is to blame."""
        if not self._process.is_alive():
            raise Broken("A template died, and its sessions with it.")

    def release(self, inmate: Inmate) -> None:
        """Kill a session of this template."""
        inmate.kill()
        self.live -= 1

    def close(self) -> None:
        self._process.kill()


class Templates:
    """The zygote's templates by program hash, least recently used first."""

    def __init__(self, zygote: socket.socket) -> None:
        self._zygote = zygote
        self._channel = Channel(zygote.fileno())
        self._kept: OrderedDict[str, Template] = OrderedDict()
        self._slot = 0

    def find(self, program: Message) -> Template:
        """The template of a program, made when there is none."""
        key: str = program["hash"]
        if key not in self._kept:
            self._kept[key] = self._spawn(program)
            self._evict()
        self._kept.move_to_end(key)
        return self._kept[key]

    def forget(self, program: Message) -> None:
        """Drop a template that no longer answers."""
        template = self._kept.pop(program["hash"], None)
        if template:
            template.close()

    def _spawn(self, program: Message) -> Template:
        self._slot += 1
        mine, theirs = connect()
        # A zygote that does not answer ends the driver: Closed is not caught on the way up.
        send_with_fd(self._zygote, {"slot": self._slot}, theirs.fileno())
        process = Inmate(self._channel.receive()["pid"], mine)
        theirs.close()
        template = Template(process, mine)
        try:
            template.compile(program)
        except Broken:
            template.close()
            raise
        return template

    def _evict(self) -> None:
        idle = [key for key, template in self._kept.items() if not template.live]
        for key in idle[: max(0, len(self._kept) - KEPT)]:
            self._kept.pop(key).close()


def _ask(channel: Channel, message: Message | None, seconds: float) -> Message:
    try:
        if message is not None:
            channel.send(message)
        return channel.receive(time.monotonic() + seconds)
    except (Closed, Overdue, BadFrame) as error:
        raise Broken(f"A process of the sandbox did not answer: {error}.") from None
