"""What `make` says where it cannot set itself up."""

import shutil
import subprocess
from pathlib import Path

import pytest

from envmill.base.settings import ROOT


def make_setup(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder / name)
    return subprocess.run(
        ["make", "setup", f"PYTHON={python}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_image_without_pip_is_one_clear_line(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").touch()
    python = stand_in(tmp_path, "exit 1")
    ended = subprocess.run(
        ["make", "image", f"PYTHON={python}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert "make image PYTHON=.venv/bin/python" in ended.stderr


def stand_in(folder: Path, body: str) -> str:
    """A program that calls itself Python."""
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "Install Python 3.11 or newer"),
        (
            'case "$*" in *version_info*) exit 1;; *) echo Python 3.8.1;; esac',
            "EnvMill needs 3.11 or newer",
        ),
        ('case "$*" in *venv*) exit 1;; esac', "apt-get install python3-venv"),
    ],
    ids=["missing", "too old", "without venv"],
)
def test_a_python_that_will_not_do_is_one_clear_line(tmp_path: Path, body: str, words: str) -> None:
    ended = make_setup(tmp_path, stand_in(tmp_path, body) if body else "/nonexistent/python3")
    assert ended.returncode != 0
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
