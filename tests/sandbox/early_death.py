"""A template that dies before its anchor can ask to die with it, played out; says whether the
anchor is gone or left.

reaper (this process, heir of orphans) ──fork──► template ──fork──► anchor, held up until the template is dead
"""

import os
import signal
import sys
import time

from envmill.runtime.jail import namespaces
from envmill.runtime.jail.kernel import prctl

_HEIR = 36
"""PR_SET_CHILD_SUBREAPER."""
SECONDS = 5.0


def main() -> None:
    prctl(_HEIR, 1)
    reader, writer = os.pipe()
    template = os.fork()
    if template == 0:
        _play_template(reader, writer)
    os.close(writer)
    os.waitpid(template, 0)
    sys.stdout.write(_wait_for_orphan())


def _play_template(reader: int, writer: int) -> None:
    namespaces.seclude()
    real = namespaces.prctl

    def prctl_late(*words: int) -> None:
        os.close(writer)
        os.read(reader, 1)  # nothing is ever written: it ends with the template
        real(*words)

    namespaces.prctl = prctl_late
    namespaces.anchor()
    os._exit(0)


def _wait_for_orphan() -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if os.waitpid(-1, os.WNOHANG)[0]:
            return "gone"
        time.sleep(0.01)
    # It is our child by now, the only one.
    (child,) = (
        int(word)
        for word in open(f"/proc/self/task/{os.getpid()}/children").read().split()  # noqa: PTH123, SIM115
    )
    os.kill(child, signal.SIGKILL)
    return "left"


if __name__ == "__main__":
    main()
