"""The templates of one zygote by program hash: least recently used go first, by number and by
memory."""

import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from envmill.runtime.jail.deadline_timer import check_parent
from envmill.runtime.jail.process import JailedProcess, connect
from envmill.runtime.jail.reset_policy import ResetPolicy
from envmill.runtime.jail.template import SandboxBroken, Template
from envmill.runtime.jail.wire import Channel, Message, encode, send_with_fds

KEPT = 32
"""Templates kept at once, beyond those with live sessions: 5-10 MB each."""
MEMORY = 512 * 1024 * 1024
"""Bytes of memory that templates without sessions may hold together, the processes they keep ready
included."""
REMEMBERED = 4096
"""Programs whose standing outlives their template."""
_OWN = 3 * 1024 * 1024
"""Pages that a process writes to and so no longer shares with the one it was forked from."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Templates:
    """Finds or makes the template of a program."""

    def __init__(self, zygote: socket.socket, pid: int = 0) -> None:
        self._zygote = zygote
        self.pid = pid
        self._channel = Channel(zygote.fileno())
        self._shared = _anonymous(pid)
        self._kept: OrderedDict[str, Template] = OrderedDict()
        self._standings: OrderedDict[str, ResetPolicy] = OrderedDict()
        self._slot = 0
        self._ahead: list[tuple[JailedProcess, socket.socket]] = []
        """A process that entered the jail before anybody had a program for it."""

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

    def rest(self, is_idle: Callable[[], bool]) -> None:
        """What is better done between requests: trials of used processes, then spares for the
        programs used last."""
        for key in list(reversed(self._kept))[:4]:
            try:
                self._kept[key].try_out()
                if is_idle():
                    self._kept[key].prepare()
            except SandboxBroken:
                self.forget({"hash": key})
        if self._slot and not self._ahead and is_idle():
            self._ahead.append(self._enter())

    def count(self) -> dict[str, int]:
        """What there is, for those who look from outside."""
        verdicts = [standing.verdict for standing in self._standings.values()]
        return {
            "templates": len(self._kept),
            "sessions": sum(template.live for template in self._kept.values()),
            "ready": sum(template.idle for template in self._kept.values()),
            "forks": sum(template.taken for template in self._kept.values()),
            "proven": verdicts.count("proven"),
            "refuted": verdicts.count("refuted"),
        }

    def close(self) -> None:
        """End every template, and the zygote."""
        for template in self._kept.values():
            template.close()
        self._kept.clear()
        for process, _ in self._ahead:
            process.kill()
        self._ahead.clear()
        self._zygote.close()

    def _spawn(self, program: Message) -> Template:
        process, control = self._ahead.pop() if self._ahead else self._enter()
        if not process.is_alive():
            process.kill()
            process, control = self._enter()
        template = Template(process, control, self._recall(program["hash"]))
        try:
            template.compile(program)
        except SandboxBroken:
            template.close()
            raise
        return template

    def _enter(self) -> tuple[JailedProcess, socket.socket]:
        """A process that enters the jail, and waits for its program."""
        self._slot += 1
        mine, theirs = connect()
        # A zygote that does not answer ends the driver: Closed is not caught on the way up.
        send_with_fds(self._zygote, encode({"slot": self._slot}), [theirs.fileno()])
        process = JailedProcess(
            self._channel.receive()["pid"], Channel(mine.fileno(), check_parent), mine.close
        )
        theirs.close()
        return process, mine

    def _recall(self, key: str) -> ResetPolicy:
        standing = self._standings.setdefault(key, ResetPolicy(key))
        self._standings.move_to_end(key)
        if len(self._standings) > REMEMBERED:
            self._standings.popitem(last=False)
        return standing

    def _evict(self) -> None:
        unused = [key for key, template in self._kept.items() if not template.live]
        surplus = len(self._kept) - KEPT
        if surplus <= 0 and len(unused) <= KEPT // 4:
            return
        # Newest first: what no longer fits below the bound goes, and everything older with it.
        held = 0
        for place, key in enumerate(reversed(unused)):
            held += self._weigh(self._kept[key])
            if place and (held > MEMORY or len(unused) - place <= surplus):
                self._kept.pop(key).close()

    def _weigh(self, template: Template) -> int:
        return max(0, _anonymous(template.pid) - self._shared) + _OWN * (1 + template.idle)


def _anonymous(pid: int) -> int:
    """Bytes of a process that belong to no file, shared with its parent or not; 0 when it is
    gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE
