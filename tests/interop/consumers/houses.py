"""Consumers' own environments, each from a lock of its own, and a way to run them with no
network."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.base import digest
from tests.interop.exporters.consumers import HOUSES, build_house
from tests.soak import count

LOCKS = Path(__file__).parent / "locks"
SOAKING = pytest.mark.skipif(
    not count(0, 1), reason="it installs a consumer: make soak AREA=consumers"
)
INSTALLING = 3600
PATIENCE = 3600


def open_locked_house(name: str, *alone: str) -> Path:
    """The interpreter of an environment with exactly what `locks/NAME.txt` lists; made once. Where
    no index answers the test is skipped.

    `alone` is installed beside it without what it asks for: of a large program often a part is meant.
    """
    lock = LOCKS / f"{name}.txt"
    mark = digest([lock.read_text(), *alone] if alone else lock.read_text(), 8)
    house = HOUSES / f"{name}-{mark}-py{sys.version_info.major}.{sys.version_info.minor}"
    if not house.exists():
        asked = [["-r", str(lock)], *([["--no-deps", *alone]] if alone else [])]
        build_house(house, lock.name, *asked, patience=INSTALLING)
    return house / "bin" / "python"


def open_newer_house(name: str, minor: int, *alone: str) -> Path:
    """As `open_locked_house`, of a newer Python; skipped where this machine has none. Its patch
    release may be any."""
    found = [
        *Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/python"),
        *map(Path, filter(None, [shutil.which(f"python3.{minor}")])),
    ]
    lock = LOCKS / f"{name}.txt"
    house = HOUSES / f"{name}-{digest([lock.read_text(), *alone], 8)}-py3.{minor}"
    if not house.exists():
        if not found:
            pytest.skip(f"it needs Python 3.{minor}")
        asked = [
            ["--no-deps", "-r", str(lock)],
            *([["--no-deps", "--ignore-requires-python", *alone]] if alone else []),
        ]
        build_house(house, lock.name, *asked, patience=INSTALLING, python=str(found[0]))
    return house / "bin" / "python"


def run_offline(python: Path, script: Path, words: Sequence[str], asked: Any) -> Any:
    """What a script writes to the file that is its last word. It is run isolated and with no
    network, not even loopback."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("a network of its own needs root and unshare")
    with tempfile.TemporaryDirectory() as home:
        answer = Path(home) / "answer.json"
        settings = {
            "HOME": home,
            "PATH": os.defpath,
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "ACCELERATE_USE_CPU": "1",
            "TRL_EXPERIMENTAL_SILENCE": "1",
        }
        command = ["unshare", "-n", str(python), "-I", str(script), *words, str(answer)]
        done = subprocess.run(
            command,
            input=json.dumps(asked),
            env=settings,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        return json.loads(answer.read_bytes())
