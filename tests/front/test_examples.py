"""Each example runs as a user would run it: the first makes bundles, the others use them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from envmill.base.settings import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.long
def test_the_examples_run(tmp_path: Path) -> None:
    environ = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    environ = os.environ | {name: str(tmp_path / folder) for name, folder in environ.items()}
    made = _run(environ, "run_a_recipe.py")
    bundle = re.findall(r"^bundle: (.+)$", made, re.MULTILINE)[0]
    assert "fail, reward 0.0" in _run(environ, "play_by_hand.py", bundle)
    played = _run(environ, "own_policy.py", bundle)
    assert (
        played.count("own policy fail")
        == played.count("reference pass")
        == len(played.splitlines())
        > 0
    )
    assert "0 objections" in _run(environ, "audit_a_folder.py", bundle)
    assert "reference passed 100%" in _run(environ, "ask_the_lake.py")


def test_every_example_is_run_and_documented() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    text, page = (
        Path(__file__).read_text(encoding="utf-8"),
        (ROOT / "docs/library.md").read_text(encoding="utf-8"),
    )
    assert len(names) == 5
    assert [name for name in names if f'"{name}"' not in text or name not in page] == []


def _run(environ: Mapping[str, str], example: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
