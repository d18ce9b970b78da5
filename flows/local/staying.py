"""Staying: a process that lasts as long as what `envmill up` started, as containers want it."""

import os
import signal
import time

from envmill.base.errors import EnvMillError
from flows.local.home import Home
from flows.local.process import Process
from flows.local.service import Say, bring_down

_PACE = 1.0


def stay(home: Home, say: Say) -> None:
    """Until SIGTERM, Ctrl-C or a `down` elsewhere. A watchdog that dies is an error, so that the
    platform starts everything again."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while (watchdog := Process(home, "watchdog")).running():
            _bury()
            time.sleep(_PACE)
        with home.lock():  # a `down` under way forgets it before it lets go
            died = watchdog.path.exists()
        if died:
            raise EnvMillError(f"The watchdog died. {watchdog.last_words()}")
    except KeyboardInterrupt:
        bring_down(home, say)


def _bury() -> None:
    """The first process of a container inherits everybody's orphans."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
