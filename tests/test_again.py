"""What failed beside others is run again alone: a fault fails twice, and nothing is run again where
more was wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.again import MOST, main

_PROGRAM = """import pathlib
import pytest


@pytest.mark.parametrize("number", range({count}))
def test_it(number):
    seen = pathlib.Path(__file__).with_name(f"seen-{{number}}")
    first = not seen.exists()
    seen.touch()
    assert not ({fails})
"""


@pytest.mark.parametrize(
    ("fails", "count", "code", "seen"),
    [
        ("first", 1, 0, 1),
        ("True", 1, 1, 1),
        ("first", MOST, 0, MOST),
        ("first", MOST + 1, 1, 0),
        ("first and number", 2, 0, 1),
    ],
    ids=["unsteady", "fault", "most", "too many", "the failed one"],
)
def test_a_few_failures_are_tried_again_alone(
    tmp_path: Path, fails: str, count: int, code: int, seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "test_unsteady.py"
    file.write_text(_PROGRAM.format(count=count, fails=fails))
    monkeypatch.chdir(tmp_path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "cache_dir=cache",
        "--cache-clear",
        file.name,
    ]
    first = subprocess.run(command, check=False, capture_output=True).returncode
    assert first == 1
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("seen-*")}
    assert main(first, tmp_path / "cache") == code
    assert sum(path.stat().st_mtime_ns != stamp for path, stamp in stamps.items()) == seen


def test_a_run_that_was_broken_off_is_not_tried_again(tmp_path: Path) -> None:
    cache = tmp_path / "v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text('{"tests/test_none.py::test_none": true}')
    assert main(2, tmp_path) == 2


def test_an_empty_cache_changes_nothing(tmp_path: Path) -> None:
    assert main(1, tmp_path) == 1
