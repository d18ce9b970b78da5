"""The baseline: the same program in a plain child process, called through the native interface
without any wire or layer.

parent ──one word──► child: does it so many times, answers with seconds
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from envmill.base.settings import ROOT
from envmill.runtime.db import adopt_sessions
from envmill.runtime.jail.wire import Message
from envmill.runtime.program import ProgramImporter
from envmill.runtime.session import Session
from envmill.runtime.start import Packed, pack
from envmill.sandbox.launch import SESSIONS
from tests.bench.plane.sample import (
    CALL,
    CLOCK,
    PROGRAM,
    TABLES_PROGRAM,
    TOOLS,
    WRITE,
    make_reset,
    make_tables_reset,
)


class Plain:
    """The child, asked from the outside; it is pinned where its parent is."""

    def __init__(self, program: str = "rows") -> None:
        words = [sys.executable, "-m", "tests.bench.plane.plain", program]
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def take(self, work: str, times: int) -> list[float]:
        """Microseconds of each of so many rounds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{work} {times}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        with self._process:
            self._process.kill()


def serve(program: Message) -> None:
    session, state = _open(program)

    def reset() -> None:
        session.reset(state, CLOCK, 7)

    def call() -> Any:
        return session.call(CALL["name"], CALL["arguments"], CALL["actor"])

    def write() -> Any:
        return session.call(WRITE["name"], WRITE["arguments"], WRITE["actor"])

    def reset_100() -> None:
        reset()
        for _ in range(100):
            call()

    def bare() -> Any:
        return session._instance.find("r3")

    works: dict[str, Callable[[], Any]] = {
        "reset": reset,
        "undo": lambda: session.reset(state, CLOCK, 7, checked=False),
        "call": call,
        "write": write,
        "reset_100": reset_100,
        "forked": lambda: _fork(reset, call),
        "bare": bare,
    }
    reset()
    for line in sys.stdin:
        name, times = line.split()
        before = write if name == "undo" else lambda: None
        sys.stdout.write(json.dumps([_time(works[name], before) for _ in range(int(times))]) + "\n")
        sys.stdout.flush()


def _fork(reset: Callable[[], None], call: Callable[[], Any]) -> None:
    child = os.fork()
    if child == 0:
        reset()
        for _ in range(20):
            call()
        os._exit(0)
    os.waitpid(child, 0)


def _open(program: Message) -> tuple[Session, Any]:
    """A session, and the state it starts from: where a database is, as a session that has met it
    keeps it."""
    adopt_sessions(SESSIONS)
    source = ProgramImporter(program["files"], program["entry"])
    session = Session(source.load, TOOLS, schema=source.schema)
    return session, Packed(pack(make_tables_reset()["state"])) if source.schema else make_reset()[
        "state"
    ]


def _time(work: Callable[[], Any], before: Callable[[], Any]) -> float:
    before()
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e6


if __name__ == "__main__":
    serve({"rows": PROGRAM, "tables": TABLES_PROGRAM}[sys.argv[1]])
