"""A machine of a measurement: a network namespace, a home that no other process sees, a core, and an account of processor time."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.settings import ROOT
from tests.wire import NETWORK, run_in

ACCOUNTS = Path("/sys/fs/cgroup/cpuacct")
_TICK = os.sysconf("SC_CLK_TCK")
_IN_JAIL = b"envmill.runtime"


@dataclass(frozen=True)
class Machine:
    """Where processes are started."""

    prefix: str
    """Of its namespace (`tests/wire.py`)."""
    name: str
    home: Path
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    core: int | None = None
    private: Sequence[Path] = ()
    """Folders that are empty for each process that is started, and nobody else sees."""

    @property
    def _account(self) -> Path:
        return ACCOUNTS / f"{self.prefix}-{self.name}"

    @contextlib.contextmanager
    def start(self, *command: str) -> Iterator[subprocess.Popen[str]]:
        """A process; whatever this machine has started is killed when the block ends."""
        for folder in (self.home, *self.private, self._account):
            folder.mkdir(parents=True, exist_ok=True)
        mounts = "".join(f"mount -t tmpfs none {folder}; " for folder in self.private)
        pinned = [] if self.core is None else ["taskset", "-c", str(self.core)]
        within = ["sh", "-c", f'{mounts}exec "$@"', "sh", *pinned, *command]
        # `ip netns exec` hides the accounts: it mounts /sys again.
        counted = ["sh", "-c", f'echo $$ > {self._account}/cgroup.procs; exec "$@"', "sh"]
        process = subprocess.Popen(
            [*counted, *run_in(self.prefix, self.name), *within],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **self.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            self.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
            process.wait(30)
            with contextlib.suppress(OSError):
                self._account.rmdir()

    def kill(self) -> None:
        """All that runs here."""
        until = time.monotonic() + 30
        while pids := self.list_processes():
            assert time.monotonic() < until, pids
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            time.sleep(0.1)

    def cut(self) -> None:
        """Nothing that it sends arrives."""
        self._change_routes("add")

    def mend(self) -> None:
        """It reaches the others again."""
        self._change_routes("delete")

    def _change_routes(self, word: str) -> None:
        space = f"{self.prefix}-{self.name}"
        command = f"ip -n {space} route {word} blackhole {NETWORK}.0/25"
        subprocess.run(command.split(), check=True)

    def read_spent(self) -> float:
        """Processor seconds of everything that ran here, ended processes included."""
        return int((self._account / "cpuacct.usage").read_text()) / 1e9

    def read_spent_outside(self) -> float:
        """Those of processes that are there and in no jail."""
        return sum(map(_read_outside, self.list_processes()))

    def list_processes(self) -> list[int]:
        """All that run here."""
        with contextlib.suppress(FileNotFoundError):
            return [int(word) for word in (self._account / "cgroup.procs").read_text().split()]
        return []


def _read_outside(pid: int) -> float:
    try:
        if _IN_JAIL in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0.0
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def read_busy(cores: Sequence[int]) -> float:
    """Seconds in which these cores were not idle, or the host had them."""
    busy, names = 0, {f"cpu{core}" for core in cores}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name in names:
            user, nice, system, _, _, interrupts, soft, stolen = map(int, numbers[:8])
            busy += user + nice + system + interrupts + soft + stolen
    return busy / _TICK
