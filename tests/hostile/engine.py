"""A Docker engine of the tests' own: its data, socket and pid in a folder that goes with it, and no
network of its own.

Its one image is empty. Containers see the host's programs, this Python and the checkout through
read-only mounts, so no registry is asked and nothing is built.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.hostile.outside import SECRET
from tests.soak import count

IMAGE = "envmill/empty"
LOCKED: tuple[str, ...] = (
    "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--user=65534:65534",
    "--pids-limit=512", "--memory=6g",
)  # fmt: skip
"""A container as a careful platform gives it to a stranger: Docker's own filter, no capability, no
namespace to be made."""
OPEN: tuple[str, ...] = (
    "--network=none", "--read-only", "--security-opt=seccomp=unconfined", "--cap-add=SYS_PTRACE", "--cap-add=SYS_ADMIN",
    "--cap-add=IPC_LOCK", "--pids-limit=128", "--memory=1g", "--memory-swap=1g",
)  # fmt: skip
"""A container in which attacks get through, to its own walls."""
_START = 60.0


def lend_engine() -> Iterator["Engine"]:
    """For a fixture, with what a soak needs. Where none can be run its tests are skipped with a
    word; on CI that is a failure."""
    if count(0, 1) == 0:
        pytest.skip("a daemon and an image take minutes: `make soak`, and .ci/run after the tests")
    try:
        engine = Engine(driver="overlay2")
    except NoEngine as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    try:
        yield engine
    finally:
        engine.close()


class NoEngine(Exception):
    """This machine cannot run one; the message says why."""


class Engine:
    """A running engine. What is built in it wants a driver with layers: `overlay2`."""

    def __init__(self, driver: str = "vfs") -> None:
        missing = [name for name in ("dockerd", "docker", "setpriv") if not shutil.which(name)]
        if missing or os.geteuid() != 0:
            raise NoEngine(
                f"{' and '.join(missing)} missing (Debian's docker.io)"
                if missing
                else "only root can start Docker's engine"
            )
        self._folder = Path(tempfile.mkdtemp(prefix="envmill-", dir="/tmp"))
        self.host = f"unix://{self._folder}/sock"
        self._log = (self._folder / "log").open("w")
        words = [
            "setpriv", "--pdeathsig", "TERM",  # a test run that is killed takes its engine along
            "dockerd", f"--data-root={self._folder}/root", f"--exec-root={self._folder}/exec", f"--host={self.host}",
            f"--pidfile={self._folder}/pid", "--bridge=none", "--iptables=false", f"--storage-driver={driver}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        try:
            self._wait()
            self.ask(["import", "-", IMAGE], _pack_skeleton())
        except BaseException:
            self.close()
            raise

    def ask(self, words: list[str], given: bytes = b"") -> str:
        """What the engine's client prints; NoEngine when it fails."""
        done = subprocess.run(
            ["docker", f"--host={self.host}", *words],
            input=given,
            capture_output=True,
            timeout=480,
            check=False,
        )
        if done.returncode:
            raise NoEngine(f"docker {words[0]} failed: {done.stderr.decode()[-500:]}")
        return done.stdout.decode()

    def run(self, options: tuple[str, ...], words: list[str]) -> str:
        """What a Python module prints in a container of its own, which is gone afterwards."""
        mounts = [f"--volume={path}:{path}:ro" for path in _list_mounts()]
        environment = [
            f"--env=PYTHONPATH={ROOT}",
            *(f"--env={name}={value}" for name, value in SECRET.items()),
            "--workdir=/tmp",
            "--tmpfs=/tmp",
        ]
        return self.ask(
            [
                "run",
                "--rm",
                *options,
                *mounts,
                *environment,
                IMAGE,
                sys.executable,
                "-B",
                "-m",
                *words,
            ]
        )

    def close(self) -> None:
        """Stop the engine; its containers are gone by themselves."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> None:
        until = time.monotonic() + _START
        while True:
            try:
                self.ask(["version"])
                return
            except NoEngine:
                if self._process.poll() is not None or time.monotonic() > until:
                    log = (self._folder / "log").read_text()[-1500:]
                    raise NoEngine(f"Docker's engine did not start here: {log}") from None
                time.sleep(0.2)


def _list_mounts() -> list[str]:
    """What a Python process of ours needs to see."""
    libraries = [
        f"/{name}"
        for name in _TOPS
        if Path("/", name).is_dir() and not Path("/", name).is_symlink()
    ]
    return list(
        dict.fromkeys([*libraries, str(Path(sys.base_prefix).resolve()), sys.prefix, str(ROOT)])
    )


def _pack_skeleton() -> bytes:
    """A root with nothing in it but the links to where the mounts will be."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("tmp", "proc", "dev", "sys", "etc", *_TOPS):
            entry = tarfile.TarInfo(name)
            if Path("/", name).is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, str(Path("/", name).readlink())
            else:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        content = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


_TOPS = ("usr", "bin", "sbin", "lib", "lib32", "lib64")
