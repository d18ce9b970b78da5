"""One hunt, in a process of its own: inputs are made and played until the time is used, and the
first that breaks a promise ends it.

    python -m tests.fuzz.hunting TARGET SEED SECONDS FOLDER

The input under way is in the folder, so that a process that dies or hangs leaves it behind. Three
promises hold for all targets: nothing is raised that a reader may not raise, no input takes more
than `DEADLINE` seconds of computing, and none more than `MEMORY` bytes.
"""

import importlib
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Protocol

from tests.fuzz.mutating import Mutator

DEADLINE = 10.0
"""Seconds of computing for one input."""
SILENCE = 240
"""Seconds after which a process that waits is killed."""
MEMORY = 400 << 20
"""Bytes by which one input may raise the most that this process ever held. Inputs have some 100
KB."""
ADDRESSES = 4 << 30
"""Bytes of address space of a hunt, and of each process below it."""
INPUT = "input"
TARGETS = (
    "wire",
    "claims",
    "states",
    "folders",
    "importers",
    "tool_lists",
    "mcp_messages",
    "mcp_http",
)
"""Modules of tests/fuzz/targets."""


class BrokenPromise(Exception):
    """An input did what no input may do."""


class Target(Protocol):
    """What is tried."""

    def make(self, mutator: Mutator) -> bytes:
        """An input."""
        ...

    def play(self, content: bytes) -> str:
        """How it ended in a word, for counting; raises BrokenPromise, or anything that it should
        not."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""


def open_target(name: str) -> Target:
    """The target by its module's name; it stays open until this process ends."""
    make: Callable[[], Target] = importlib.import_module(f"tests.fuzz.targets.{name}").open_target
    return make()


def hunt(
    target: Target, seed: str, seconds: float, folder: Path, least: int = 20
) -> dict[str, int]:
    """How often inputs ended in which way. Processes below count as this one's time once they have
    ended."""
    ended: dict[str, int] = {}
    number = 0
    while number < least or time.process_time() < seconds:
        number += 1
        try:
            content = target.make(Mutator(Random(f"{seed}:{number}")))
        except MemoryError:  # ours: lists of lists doubled too often
            ended["too large to be made"] = ended.get("too large to be made", 0) + 1
            continue
        (folder / INPUT).write_bytes(content)
        how = play(target, content)
        ended[how] = ended.get(how, 0) + 1
    return ended


def play(target: Target, content: bytes) -> str:
    """Play one input under the promises that hold for all targets."""
    before = _read_most_memory()
    with _deadline():
        how = target.play(content)
    if (grown := _read_most_memory() - before) > MEMORY:
        raise BrokenPromise(f"it took {grown >> 20} MB")
    return how


@contextmanager
def _deadline() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise BrokenPromise(f"it computed for more than {DEADLINE:g} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, DEADLINE)
    signal.alarm(SILENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def _read_most_memory() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _bound_memory() -> None:
    """The last bound: what is read without end must not take the machine along."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


def main(name: str, seed: str, seconds: str, folder: str) -> int:
    _bound_memory()
    target = open_target(name)
    start = time.process_time()
    try:
        ended = hunt(target, seed, start + float(seconds), Path(folder))
    except BaseException:  # noqa: BLE001  # whatever it is, the test shows it with the input
        traceback.print_exc()
        return 1
    sys.stdout.write(", ".join(f"{how}: {count}" for how, count in sorted(ended.items())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
