"""`make test` runs some cases of a long function, `make long` the others, and none runs in both or in neither."""

import subprocess
import sys
from pathlib import Path

import pytest

from envmill.base.settings import ROOT

_FILE = """
import pytest

@pytest.mark.long
def test_takes_minutes(): ...

@pytest.mark.long(cases=2)
@pytest.mark.parametrize("number", range(20))
def test_has_many_cases(number): ...

@pytest.mark.long(cases=2)
@pytest.mark.parametrize("number", range(2))
def test_has_few_cases(number): ...

def test_takes_no_time(): ...
"""
_ALL = 1 + 20 + 2 + 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(
        "import pytest\nfrom tests.long import choose_cases\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n    choose_cases(items)\n"
    )
    (tmp_path / "test_some.py").write_text(_FILE)
    return tmp_path


def _collect(folder: Path, expression: str, seed: str) -> set[str]:
    """Tests that pytest selects in the folder."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider",
         "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-m", expression, str(folder)],
        env={"PYTHONPATH": str(ROOT), "ENVMILL_SEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    return {line for line in found.stdout.splitlines() if "::" in line}


def test_each_test_runs_in_one_of_both(folder: Path) -> None:
    short, long = _collect(folder, "not long", "a1"), _collect(folder, "long", "a1")
    assert not short & long
    assert len(short | long) == _ALL
    assert sum("many_cases" in one for one in short) == 2
    assert not any("few_cases" in one or "no_time" in one for one in long)
    assert [one for one in long if "minutes" in one]


def test_another_commit_runs_other_cases(folder: Path) -> None:
    assert _collect(folder, "not long", "a1") != _collect(folder, "not long", "b2")
