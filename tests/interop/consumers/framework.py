"""verifiers in an environment of its own, with one exported folder beside it, and no network but
loopback."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.interop.consumers.houses import INSTALLING, LOCKS, PATIENCE, open_locked_house

ADAPTER = "envmill-verifiers"
PLAIN = Path(__file__).parent / "plain"
"""A taskset with nothing of ours."""
Scripts: TypeAlias = dict[str, dict[str, list[dict[str, Any]]]]
"""Policy → opening → turns, as `offline.py` reads them."""


class Framework:
    """verifiers in its own environment, with one exported folder installed beside it, and a home of
    its own."""

    def __init__(self, python: Path, site: Path, home: Path) -> None:
        self.python, self.site, self.home = python, site, home

    def run(
        self, command: str, *words: str, scripts: Scripts | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command of verifiers, with loopback and a scripted model alone."""
        (self.home / "scripts.json").write_text(json.dumps(scripts or {}))
        offline = [
            str(self.python),
            str(Path(__file__).with_name("offline.py")),
            str(self.home / "scripts.json"),
            "--",
        ]
        binaries = self.python.parent
        settings = {
            "PATH": f"{binaries}:{os.defpath}",
            "HOME": str(self.home),
            "PYTHONPATH": f"{self.site}:{PLAIN}",
            # uv finds what the harness asks for in a folder, and an index that is empty.
            "UV_FIND_LINKS": str(binaries.parent / "wheels"),
            "UV_DEFAULT_INDEX": (self.home / "empty").as_uri(),
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_KEY": "none",
        }
        (self.home / "empty").mkdir(exist_ok=True)
        asked = [*offline, str(self.python), str(binaries / command), *words]
        return subprocess.run(
            asked,
            env=settings,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def evaluate(
        self,
        policy: str,
        rows: Sequence[str],
        scripts: Scripts,
        *words: str,
        taskset: str = ADAPTER,
    ) -> dict[str, dict[str, Any]]:
        """Row → its trace. The model is named after the policy. Another taskset than ours has rows
        of its own."""
        asked = [
            "--env.agent.harness.id",
            "null",
            "--env.agent.runtime.type",
            "subprocess",
            "--no-push",
            "--no-rich",
        ]
        out = f"{policy}-{uuid.uuid4().hex[:8]}"
        model = [
            "-m",
            policy,
            "--client.base-url",
            "{url}",
            "--client.api-key-var",
            "NO_KEY",
            "-o",
            out,
            "-c",
            "4",
        ]
        chosen = ["--env.taskset.scenarios", json.dumps(list(rows))] if taskset == ADAPTER else []
        done = self.run("vf-eval", taskset, *asked, *model, *chosen, *words, scripts=scripts)
        traces = read_traces(self.home / out)
        assert traces.keys() == set(rows) or (traces and not rows), done.stderr[-3000:]
        return traces


def read_traces(folder: Path) -> dict[str, dict[str, Any]]:
    paths = list(folder.rglob("traces.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return {trace["task"]["key"]: trace for line in lines for trace in line["traces"]}


def open_framework(folder: Path, home: Path) -> Framework:
    """The folder is installed as its users install it, but beside the environment, which other
    tests share."""
    if os.geteuid() != 0:
        pytest.skip("a network of its own needs root")
    python = open_locked_house("verifiers")
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    if not (wheels := python.parents[1] / "wheels").exists():
        run(
            [
                *pip,
                "download",
                "-q",
                "--no-deps",
                "-d",
                str(wheels),
                "-r",
                str(LOCKS / "verifiers-harness.txt"),
            ]
        )
    shutil.copytree(folder, home / "export")
    run(
        [
            *pip,
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(home / "site"),
            str(home / "export"),
        ]
    )
    shutil.rmtree(home / "export")
    return Framework(python, home / "site", home)


def run(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALLING, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
