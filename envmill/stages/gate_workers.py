"""Keepers: processes that hold subjects against the gates, for a walk with more of them than one
core gets through.

walk ─► GateWorkers.ask_gates(lap, subject) ─► a free one ─► its socket ─► pipeline/gate_worker.py ─► findings, or the error that ended them
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from envmill.base import errors
from envmill.base.errors import EnvMillError, SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.sandbox.launch import pick_cores
from envmill.verifiers.bounds import FindTruth
from schemas.base import Json
from schemas.ledger import Lap

HERE = 32
"""Subjects that are looked at in the process that asks: two keepers take as long to start."""
LINE = 1 << 30
"""Bytes of a message: a place has many siblings, and each its state."""
FINDINGS = TypeAdapter(list[Finding])
SUBJECTS: dict[Lap, TypeAdapter[Any]] = {
    "environments": TypeAdapter(EnvironmentCase),
    "scenarios": TypeAdapter(ScenarioCase),
}
"""What a lap's gates look at, and how it travels."""


@dataclass
class _Keeper:
    """One process and our end of its socket."""

    core: int
    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, question: Json) -> Json:
        self.writer.write(render(question))
        # One that was killed with a question unread resets the connection.
        with suppress(OSError):
            if line := await self.reader.readline():
                return json.loads(line)
        code = await asyncio.to_thread(self.process.wait)
        raise SandboxError(
            f"A gate worker died ({code}). Nothing is known about its subject: retry it."
        )

    async def close(self) -> None:
        """Let it end by itself, so that its jail is taken down in order."""
        self.writer.close()
        await asyncio.to_thread(self.process.wait)

    def kill(self) -> None:
        """In the middle of something nobody waits for any more; the kernel ends its jail."""
        self.writer.close()
        self.process.kill()
        self.process.wait()


class GateWorkers:
    """One per core, each with one subject at a time; each starts when it is first needed, and one
    that died is replaced."""

    def __init__(self, settings: Settings, find_truth: FindTruth | None = None) -> None:
        self._settings, self._find_truth = settings, find_truth
        self._free: asyncio.LifoQueue[_Keeper | int] = asyncio.LifoQueue()
        """Keepers without a subject, and cores without a keeper: two on one core would leave
        another idle."""
        for core in pick_cores():
            self._free.put_nowait(core)
        self._here = 0

    def busy(self) -> bool:
        """Whether the process that asks has as many subjects of its own as it should."""
        return self._here >= HERE

    @contextmanager
    def here(self) -> Generator[None]:
        """One of them."""
        self._here += 1
        try:
            yield
        finally:
            self._here -= 1

    async def ask_gates(
        self, lap: Lap, subject: EnvironmentCase | ScenarioCase, means: GateContext
    ) -> list[Finding]:
        """What the gates of a lap find, and the errors they end with. Of the means, what a worker
        does not have of its own travels."""
        told: Json = {
            name: getattr(means, name) for name in ("seed", "episodes", "probes", "observes")
        } | {"held": sorted(means.held)}
        reply = await self._ask(
            lambda: {
                "lap": lap,
                "subject": SUBJECTS[lap].dump_python(subject, mode="json"),
                "means": told,
            }
        )
        if error := reply.get("error"):
            raise read_error(error)
        return FINDINGS.validate_python(reply["findings"])

    async def close(self) -> None:
        """Every place is empty afterwards."""
        places = [self._free.get_nowait() for _ in range(self._free.qsize())]
        await asyncio.gather(*(place.close() for place in places if isinstance(place, _Keeper)))

    async def _ask(self, tell: Callable[[], Json]) -> Json:
        """The question is told when somebody is free to answer it: thousands wait, and each holds a
        state for every sibling."""
        place = await self._free.get()
        try:
            if isinstance(place, int):
                place = await _start(self._settings, place, self._find_truth)
            return await place.ask(tell())
        except BaseException:
            # Its answer would be taken for the next subject's.
            if isinstance(place, _Keeper):
                place.kill()
                place = place.core
            raise
        finally:
            self._free.put_nowait(place)


def render(message: Json) -> bytes:
    """A line. The standard library's JSON: states hold numbers and halves of characters that others
    refuse."""
    return json.dumps(message, default=str).encode() + b"\n"


def describe_error(error: Exception) -> Json:
    """Its class, words and facts."""
    if isinstance(error, EnvMillError):
        return {"kind": type(error).__name__, "message": error.message, "facts": error.facts}
    return {"kind": "", "message": f"{type(error).__name__}: {error}", "facts": {}}


def read_error(told: Json) -> Exception:
    """The same error here; one that is none of ours is a bug there."""
    return (
        getattr(errors, told["kind"])(told["message"], **told["facts"])
        if told["kind"]
        else RuntimeError(told["message"])
    )


def name_function(function: FindTruth | None) -> str:
    """`module:name`, by which another process imports a function; empty for none."""
    return f"{function.__module__}:{function.__qualname__}" if function else ""


async def _start(settings: Settings, core: int, find_truth: FindTruth | None) -> _Keeper:
    mine, theirs = socket.socketpair()
    with theirs:
        process = _launch(theirs, settings, core, find_truth)
    return _Keeper(core, process, *await asyncio.open_connection(sock=mine, limit=LINE))


def _launch(
    theirs: socket.socket, settings: Settings, core: int, find_truth: FindTruth | None
) -> subprocess.Popen[bytes]:
    # The kernel signals the death of the parent *thread*: only the main thread lives as long as the
    # process.
    guard = threading.current_thread() is threading.main_thread()
    switches = {
        "TRUST_GENERATED_CODE": settings.trust_generated_code,
        "DIAGNOSE_DENIALS": settings.diagnose_denials,
    }
    told = {f"ENVMILL_{name}": "1" for name, on in switches.items() if on}
    # Where terminals are held: a keeper's machines are those that the run's were proved on.
    told |= {
        "ENVMILL_IMAGES": str(settings.images),
        "ENVMILL_ENGINE": settings.engine,
        "DOCKER_HOST": settings.docker,
    }
    config = json.dumps(
        {
            "parent": os.getpid(),
            "guard": guard,
            "core": core,
            "settings": told,
            "truth": name_function(find_truth),
        }
    )
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-m", "envmill.pipeline.gate_worker", str(theirs.fileno()), config],
        pass_fds=[theirs.fileno()], cwd="/", start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONPATH": paths},
    )  # fmt: skip
