"""An exported bundle asked as a stranger would: by a bare interpreter with nothing on its path, as
another user where we may."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT

PATIENCE = 600
CONSUMER = Path(__file__).with_name("consumer.py")
_BARE = ("-I", "-S", "-B")


def run_bare(
    folder: Path, words: Sequence[str], said: str = ""
) -> subprocess.CompletedProcess[str]:
    """`python3 -I envrun …` in the folder."""
    command = [sys.executable, *_BARE, "envrun", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env={},
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def ask_bare(folder: Path, words: Sequence[str], said: str = "") -> list[Any]:
    """Its answers, one JSON value a line."""
    done = run_bare(folder, words, said)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def consume(folders: Sequence[Path], episodes: Any) -> Any:
    """What the consumer reports; as nobody where this is root, with the interpreter and the folders
    alone in sight."""
    python = Path(sys.executable).resolve()
    command = [str(python), *_BARE, str(CONSUMER), *map(str, folders)]
    if os.geteuid() == 0:
        seen = [str(python.parents[1]), str(CONSUMER.parent), *map(str, folders)]
        command = [sys.executable, "-m", "tests.hostile.demoted", *seen, "--", *command]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)} if os.geteuid() == 0 else {}, input=json.dumps(episodes),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
