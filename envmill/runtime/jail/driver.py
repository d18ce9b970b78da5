"""The driver: an exec'ed process, pinned to a core, that runs jail work for one flow process.

    flow process ◄── frames ──► driver ──► zygote ──► templates ──► sessions

One request is one subject's whole plan. It ends, and everything below it, when the flow process does.
"""

import os
import socket
import sys
import time
import traceback
from collections.abc import Collection

from envmill.runtime.jail import layers as jail
from envmill.runtime.jail.seat import Seat
from envmill.runtime.jail.template import Broken, Templates
from envmill.runtime.jail.wire import Channel, Closed, Message, adopt_codec, decode
from envmill.runtime.jail.zygote import run_zygote

BUDGET = 60.0
"""Seconds for a whole plan."""


class Driver:
    """Answers the flow process's requests one after the other."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._seats: dict[int, Seat] = {}

    def answer(self, request: Message) -> Message:
        """The reply to one request; a broken sandbox is an error of its own, never an observation."""
        try:
            return {"id": request["id"], "observations": self._perform(request)}
        except Broken as error:
            self._templates.forget(request["program"])
            return {"id": request["id"], "broken": str(error)}

    def _perform(self, request: Message) -> list[Message]:
        seat = self._seats.pop(request["session"], None)
        if request["op"] == "close":
            if seat:
                seat.close()
            return []
        seat = seat or Seat(self._templates.find(request["program"]))
        try:
            return seat.play(request["steps"], time.monotonic() + BUDGET)
        finally:
            if request["op"] == "step":
                self._seats[request["session"]] = seat
            else:
                seat.close()


def start_zygote(layers: Collection[str]) -> Templates:
    """Fork the zygote and wait until it has loaded its modules."""
    mine, theirs = socket.socketpair()
    parent = os.getpid()
    if os.fork() == 0:
        run_zygote(theirs.fileno(), layers, parent)
    theirs.close()
    if not Channel(mine.fileno()).receive().get("ready"):
        raise Broken("The zygote did not start.")
    return Templates(mine)


def run(host: socket.socket, config: Message) -> None:
    """Serve until the flow process's end closes."""
    if config["guard"]:
        jail.die_with_parent(config["parent"])
    os.sched_setaffinity(0, {config["core"]})
    adopt_codec(config["codec"])
    granted = jail.probe()
    layers = [name for name, given in granted.items() if given and name not in config["without"]]
    channel = Channel(host.fileno())
    driver = Driver(start_zygote(layers))
    channel.send({"layers": {name: name in layers for name in granted}})
    while True:
        channel.send(driver.answer(channel.receive()))


def main() -> None:
    host = socket.socket(fileno=int(sys.argv[1]))
    try:
        run(host, decode(sys.argv[2].encode()))
    except Closed:
        pass
    except BaseException:  # the process ends here; its last words go to whoever waits
        Channel(host.fileno()).send({"fatal": traceback.format_exc()[-4000:]})
        raise
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
