"""A background process of a home: started in a session of its own, known by a record it writes
itself, stopped for certain."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from envmill.base.errors import EnvMillError
from envmill.base.settings import ROOT
from flows.local import launch
from flows.local.home import MARK, Home


@dataclass(frozen=True)
class ProcessRecord:
    """Identity of a process; the kernel may have given the pid to another one."""

    pid: int
    started: int
    boot: str
    url: str

    @property
    def alive(self) -> bool:
        return self.boot == launch.read_boot() and launch.read_start(self.pid) == self.started


@dataclass(frozen=True)
class Process:
    """One of the processes that `envmill up` keeps: its name, and where its record and log lie."""

    home: Home
    name: str

    @property
    def path(self) -> Path:
        return self.home.folder / f"{self.name}.json"

    def read(self) -> ProcessRecord | None:
        """The record, alive or stale; None when there is none that can be read."""
        try:
            return ProcessRecord(**json.loads(self.path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def running(self) -> ProcessRecord | None:
        record = self.read()
        return record if record and record.alive else None

    def forget_stale(self) -> bool:
        """Remove a record whose process is gone; True when there was one."""
        stale = self.path.exists() and not self.running()
        if stale:
            self._forget()
        return stale

    def start(
        self, command: list[str], url: str, descriptors: tuple[int, ...] = ()
    ) -> ProcessRecord:
        """Start it, and return when it has said who it is. No record of an earlier process may be
        left."""
        log = self.home.log(self.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        launcher = [
            sys.executable,
            "-S",
            launch.__file__,
            str(self.path),
            url,
            sys.executable,
            *command,
        ]
        with log.open("wb") as output:
            subprocess.run(
                launcher,
                env=self.home.child_environ(url, self.name),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=descriptors,
                check=True,
            )
        deadline = time.monotonic() + 10
        while (record := self.read()) is None:
            if time.monotonic() > deadline:
                raise EnvMillError(f"The {self.name} did not begin. {self.last_words()}")
            time.sleep(0.02)
        return record

    def stop(self, grace: float) -> bool:
        """Ask, wait, then kill; True when something was running."""
        record = self.running()
        if record:
            end([record.pid], grace)
        self._forget()
        return record is not None

    def _forget(self) -> None:
        for path in (self.path, self.path.with_suffix(".pid")):
            path.unlink(missing_ok=True)

    def last_words(self, lines: int = 15) -> str:
        log = self.home.log(self.name)
        text = log.read_text(errors="replace") if log.exists() else ""
        return f"The end of {log}:\n" + ("\n".join(text.splitlines()[-lines:]) or "(it is empty)")


def end(pids: list[int], grace: float) -> None:
    """SIGTERM, then SIGKILL for those still there after the grace. A pid is only signalled while it
    is the same process."""
    started = {pid: launch.read_start(pid) for pid in pids}

    def remaining() -> list[int]:
        return [
            pid
            for pid, start in started.items()
            if start is not None and launch.read_start(pid) == start
        ]

    for sign, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        for pid in remaining():
            _signal(pid, sign)
        deadline = time.monotonic() + seconds
        while remaining() and time.monotonic() < deadline:
            time.sleep(0.05)


def _signal(pid: int, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sign)


def find_marked(home: Home) -> list[int]:
    """Pids that inherited this home's mark: flow processes have sessions of their own and survive a
    killed worker."""
    wanted = f"{MARK}={home.folder}".encode()
    return [pid for pid in _own_pids() if wanted in _environ(pid).split(b"\0")]


def _own_pids() -> list[int]:
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and int(entry.name) != os.getpid()
    ]


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
