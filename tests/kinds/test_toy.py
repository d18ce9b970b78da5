"""A new kind goes down the whole line, and touches two files that were there before."""

import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT
from tests.kinds.toy import counters

PACKAGES = ("envmill", "schemas", "quality")
DATA = ("seeds", "prices.toml", "scan.toml")
EDITS = {
    "schemas/environment.py": [('"terminal", "dialogue"]', '"terminal", "dialogue", "counters"]')],
    "envmill/kinds/__init__.py": [
        (
            "from envmill.kinds.base import Kind\n",
            "from envmill.kinds.base import Kind\nfrom envmill.kinds.counters import Counters\n",
        ),
        (
            '    "terminal": TerminalKind(),\n',
            '    "terminal": TerminalKind(),\n    "counters": Counters(),\n',
        ),
    ],
}
"""File → what a new kind changes in it. Everything else of the kind is new."""
MOST_EDITS = 3


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product with one more kind."""
    root = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "data").mkdir()
    for name in DATA:
        (root / "data" / name).symlink_to(ROOT / "data" / name)
    (root / "tests" / "kinds").mkdir(parents=True)
    for home in ("tests", "tests/kinds"):
        (root / home / "__init__.py").touch()
    shutil.copytree(ROOT / "tests" / "kinds" / "toy", root / "tests" / "kinds" / "toy")
    shutil.copy(Path(counters.__file__), root / "envmill" / "kinds" / "counters.py")
    for name, edits in EDITS.items():
        text = (root / name).read_text()
        for before, after in edits:
            assert text.count(before) == 1, f"{name} no longer says {before!r}"
            text = text.replace(before, after)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def walked(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.kinds.toy.line", str(tmp_path_factory.mktemp("run"))]
    done = subprocess.run(
        command,
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.long
def test_a_new_kind_touches_at_most_three_files(tree: Path) -> None:
    ours = {path.relative_to(ROOT) for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    changed = {
        str(path) for path in ours if not filecmp.cmp(ROOT / path, tree / path, shallow=False)
    }
    assert changed == set(EDITS)
    assert len(changed) <= MOST_EDITS


@pytest.mark.long
def test_a_new_kind_goes_down_the_whole_line(walked: dict[str, Any]) -> None:
    assert walked["kinds"] == [["counters"]]
    steps = {
        name: dict(zip(("entered", "kept", "dropped", "error", "made"), counts, strict=True))
        for name, *counts in walked["steps"]
    }
    assert {
        name: (one["dropped"], one["error"])
        for name, one in steps.items()
        if one["dropped"] or one["error"]
    } == {}
    assert steps["environments-filter"]["kept"] == 2
    assert steps["scenarios-collect"]["kept"] == 4
    assert {path.split("/")[1] for path in walked["written"]} >= {"sft", "rl", "dataset"}


@pytest.mark.long
def test_its_gates_are_asked_or_say_why_not(walked: dict[str, Any]) -> None:
    found = {
        (gate, outcome): (reason, detail) for gate, outcome, reason, detail, _ in walked["gates"]
    }
    assert ("W6", "kept") in found
    assert found["S8", "not_applicable"] == ("counters", "counters are written by no author")
