"""The jail beside a plain child process and beside a server per environment; from the driver's
seat, and from the flow process.

Each seat is a process of its own: the one is pinned, the other runs an event loop.
"""

import json
import subprocess
import sys
from typing import Any

from envmill.base.settings import ROOT
from tests.bench.plane import diffing


def rows() -> list[dict[str, Any]]:
    """Medians where nothing else is said."""
    return [*_run("tests.bench.plane.beside"), *_run("tests.bench.plane.flow"), *diffing.measure()]


def _run(module: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", module], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=400
    )
    return json.loads(done.stdout)
