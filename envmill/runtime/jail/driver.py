"""The driver: an exec'ed process, pinned to a core, that runs jail work for one flow process.

    flow process ◄── frames ──► driver ──► zygote ──► templates ──► sessions

One request is one subject's whole plan, or one step of an open session. Requests are served one
after the other: on one core plans side by side would only take each other's time, and a deadline on
the wall clock would blame the wrong one. It ends, and everything below it, when the flow process
does.
"""

import contextlib
import json
import os
import resource
import select
import socket
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Collection

from envmill.runtime.jail import cgroups
from envmill.runtime.jail import layers as jail
from envmill.runtime.jail.allowance import ALLOWANCE
from envmill.runtime.jail.deadline import PATIENCE
from envmill.runtime.jail.deadline_timer import follow
from envmill.runtime.jail.loop import CONSTRUCT, SOFT
from envmill.runtime.jail.operations import PATIENT
from envmill.runtime.jail.reset_policy import LEAKS, drain_leaks
from envmill.runtime.jail.slot import SessionSlot, failure
from envmill.runtime.jail.template import SandboxBroken
from envmill.runtime.jail.templates import Templates
from envmill.runtime.jail.wire import (
    BadFrame,
    Channel,
    Closed,
    Message,
    adopt_codec,
    decode,
    encode,
)
from envmill.runtime.jail.zygote import run_zygote
from envmill.runtime.program import SCHEMA

BUDGET = 60.0
"""Seconds for a whole plan, at most."""
MEMORY = 3 << 30
"""Bytes of address space of the driver: all that the largest plan comes to, as frames, as objects
and on its way out, fits three times."""
PROGRAMS = 512
"""Programs remembered by their hash, so that their text travels once."""
REFUSAL = (
    "No kernel layer holds here: generated code would run unconfined. "
    "Use a Linux with seccomp or Landlock, or say that the program is trusted if it is."
)
_CALLS = 30.0
"""Seconds for all calls of a plan, at most."""


class Unknown(Exception):
    """The request names a program or a session by what the driver does not know."""


class Driver:
    """Answers the flow process's requests one after the other."""

    def __init__(self, start: Callable[[str], Templates]) -> None:
        self._start = start
        self._flavours: dict[str, Templates] = {}
        self._seats: dict[int, tuple[SessionSlot, Message]] = {}
        self._programs: OrderedDict[str, Message] = OrderedDict()
        self._requests: dict[str, Callable[[Message], list[Message]]] = {
            "play": self._play, "step": self._step, "fork": self._fork, "close": self._close, "count": self._count,
        }  # fmt: skip

    def answer(self, request: Message) -> Message:
        """The reply to one request; a broken sandbox is an error of its own, never an
        observation."""
        ALLOWANCE.renew()
        try:
            reply: Message = {
                "id": request["id"],
                "observations": self._requests[request["op"]](request),
            }
            return reply | {"leaks": drain_leaks()} if LEAKS else reply
        except Unknown as error:
            return {"id": request["id"], "unknown": str(error)}
        except SandboxBroken as error:
            if "program" in request:
                for templates in self._flavours.values():
                    templates.forget(request["program"])
            return {"id": request["id"], "broken": str(error)}

    def find_templates(self, request: Message) -> Templates:
        """The zygote of the flavour that a request wants; started when it is first wanted."""
        flavour: str = request.get("flavour") or flavour_of(request.get("program"))
        if flavour not in self._flavours:
            self._flavours[flavour] = self._start(flavour)
        return self._flavours[flavour]

    def rest(self, is_idle: Callable[[], bool]) -> None:
        """What is better done between requests."""
        for templates in self._flavours.values():
            ALLOWANCE.renew()
            templates.rest(is_idle)

    def _play(self, request: Message) -> list[Message]:
        seat = self._sit(request)
        try:
            return seat.play(request["steps"], time.monotonic() + budget(request["steps"]))
        finally:
            seat.close()

    def _step(self, request: Message) -> list[Message]:
        number: int = request["session"]
        seat = self._seats.pop(number, (None, None))[0] or self._sit(request)
        observations = seat.play(request["steps"], time.monotonic() + budget(request["steps"]))
        # A seat whose template broke is not put back: its next step finds no session.
        self._seats[number] = (seat, request)
        return observations

    def _fork(self, request: Message) -> list[Message]:
        """Branch an open session: its snapshot, restored in another process."""
        if request["session"] not in self._seats:
            raise Unknown(f"the session {request['session']}")
        seat, origin = self._seats[request["session"]]
        until = time.monotonic() + budget([{"op": "restore"}])
        (taken,) = seat.play([{"op": "snapshot"}], until)
        if taken["outcome"] != "ok":
            return [taken]
        if [part["type"] for part in taken["parts"]] != ["json"]:
            return [failure("killed", "It answered with something else than a snapshot.")]
        branch = self._sit(origin)
        answers = branch.play([{"op": "restore", "snapshot": taken["parts"][0]["value"]}], until)
        self._seats[request["into"]] = (branch, origin)
        return answers

    def _close(self, request: Message) -> list[Message]:
        seat, _ = self._seats.pop(request["session"], (None, None))
        if seat:
            seat.close()
        return []

    def _count(self, request: Message) -> list[Message]:  # noqa: ARG002
        return [
            {"flavour": flavour, **templates.count()}
            for flavour, templates in self._flavours.items()
        ]

    def _sit(self, request: Message) -> SessionSlot:
        program = self._recall(request["program"])
        template = self.find_templates({**request, "program": program}).find(program)
        return SessionSlot(
            template, request.get("hashes", "each"), in_place=request.get("in_place", False)
        )

    def _recall(self, program: Message) -> Message:
        """The program in full: it travels once, and afterwards its hash stands for it."""
        key: str = program["hash"]
        if "files" in program:
            self._programs[key] = program
            if len(self._programs) > PROGRAMS:
                self._programs.popitem(last=False)
        if key not in self._programs:
            raise Unknown(f"the program {key}")
        self._programs.move_to_end(key)
        return self._programs[key]


def flavour_of(program: Message | None) -> str:
    """Programs with a database run in processes that have one loaded."""
    return "database" if program and SCHEMA in program.get("files", ()) else "tools"


def budget(steps: list[Message]) -> float:
    """Seconds a plan may take: what its steps may take each, within bounds of the whole."""
    built = sum(step["op"] in PATIENT for step in steps)
    return min(BUDGET, CONSTRUCT * built + min(_CALLS, PATIENCE * SOFT * (1 + len(steps) - built)))


def start_zygote(
    layers: Collection[str],
    flavour: str = "tools",
    sessions: str = "",
    afresh: Message | None = None,
) -> Templates:
    """Fork the zygote and wait until it has loaded its modules. With the driver's config it starts
    afresh, remembering nothing."""
    mine, theirs = socket.socketpair()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        if afresh:
            _start_over(theirs, afresh | {"zygote": [list(layers), parent, flavour, sessions]})
        run_zygote(theirs.fileno(), layers, parent, flavour, sessions)
    theirs.close()
    jail.enclose(layers, child)
    if not Channel(mine.fileno()).receive().get("ready"):
        raise SandboxBroken("The zygote did not start.")
    return Templates(mine, child)


def _start_over(end: socket.socket, config: Message) -> None:
    """Exec this program again. A driver that has served knows calls, programs and states that no
    session may find in its memory."""
    try:
        end.set_inheritable(True)
        os.execv(sys.executable, [*sys.orig_argv[:-2], str(end.fileno()), json.dumps(config)])
    finally:
        os._exit(1)


def run(host: socket.socket, config: Message) -> None:
    """Serve until the flow process's end closes."""
    if config["guard"]:
        jail.die_with_parent(config["parent"])
    follow(config["parent"])
    _raise_descriptors()
    _limit_memory()
    if config["core"] is not None:
        os.sched_setaffinity(0, {config["core"]})
    if config["codec"]:
        adopt_codec(config["codec"])
    granted = jail.probe()
    layers = [name for name, given in granted.items() if given and name not in config["without"]]
    manner = (jail.DIAGNOSIS,) if config.get("diagnose") and "seccomp" in layers else ()
    channel = Channel(host.fileno())
    if not config.get("trusted", True) and not jail.KERNEL_LAYERS.intersection(layers):
        channel.send({"refused": REFUSAL})
        return

    def start(flavour: str) -> Templates:
        # The first is forked before anything was asked.
        afresh = None if flavour == flavour_of(None) else config
        return start_zygote((*layers, *manner), flavour, config.get("sessions", ""), afresh)

    driver = Driver(start)
    driver.find_templates({})
    channel.send({"layers": {name: name in layers for name in granted}})
    watch = select.poll()
    watch.register(host.fileno(), select.POLLIN)
    while True:
        channel.write(_render(driver.answer(channel.receive())))
        driver.rest(lambda: not watch.poll(0))


def _render(reply: Message) -> bytes:
    """A reply's frame. What came in a frame of its own may together with others be too large for
    one."""
    try:
        return encode(reply)
    except (ValueError, TypeError, RecursionError, BadFrame):
        forged = failure("killed", "It answered with more than fits into a frame.")
        return encode(reply | {"observations": [forged for _ in reply["observations"]]})


def _raise_descriptors() -> None:
    """Three for each session: the soft limit of 1,024 is less than a thousand sessions need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(
                resource.RLIMIT_NOFILE,
                (min(hard, 1 << 20) if hard != resource.RLIM_INFINITY else 1 << 20, hard),
            )


def _limit_memory() -> None:
    """The last bound on what a session may have this process hold. Sessions have tighter ones, and
    a control group."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _be_zygote(end: int, config: Message) -> None:
    """Never returns."""
    if config["codec"]:
        adopt_codec(config["codec"])
    layers, parent, flavour, sessions = config["zygote"]
    run_zygote(end, layers, parent, flavour, sessions)


def main() -> None:
    config = decode(sys.argv[2].encode())
    if "zygote" in config:
        _be_zygote(int(sys.argv[1]), config)
    host = socket.socket(fileno=int(sys.argv[1]))
    try:
        run(host, config)
    except Closed:
        cgroups.remove(os.getpid())
    except BaseException:  # the process ends here; its last words go to whoever waits
        Channel(host.fileno()).send({"fatal": traceback.format_exc()[-4000:]})
        raise
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
