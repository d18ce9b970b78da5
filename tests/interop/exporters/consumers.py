"""Consumers' programs in environments of their own: made once, kept beside the stamps of setup,
never in ours."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from envmill.base.settings import ROOT

HOUSES = ROOT / ".stamps" / "consumers"
PATIENCE = 900


def open_house(requirement: str, *lean: str) -> Path:
    """The interpreter of an environment that holds one requirement. Where no index answers the test
    is skipped, and fails in CI.

    `lean` is all that it needs of what it asks for: of a large program often a part is meant, which runs on this Python, too.
    """
    house = (
        HOUSES
        / f"{requirement.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    )
    if not house.exists():
        _build(house, requirement, lean)
    return house / "bin" / "python"


def _build(house: Path, requirement: str, lean: tuple[str, ...]) -> None:
    ask = ["--prefer-binary", "--retries", "1"]
    first = [*ask, "--no-deps", "--ignore-requires-python", requirement]
    build_house(house, requirement, *([first, [*ask, *lean]] if lean else [[*ask, requirement]]))


def build_house(
    house: Path,
    what: str,
    *asked: Sequence[str],
    patience: float = PATIENCE,
    python: str = sys.executable,
) -> None:
    """An environment with what pip is asked for, one time after the other. It is made under another
    name, so that a house that stands is
    whole."""
    part = house.with_name(f".{house.name}-{uuid.uuid4().hex}")
    make = [python, "-m", "venv", "--without-pip", str(part)]
    # Not compiled: most of what it brings is never imported here.
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(part / "bin/python"),
        "install",
        "-q",
        "--no-compile",
    ]
    for command in (make, *([*pip, *words] for words in asked)):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False
        )
        if done.returncode:
            shutil.rmtree(part, ignore_errors=True)
            reason = f"no environment with {what}: {done.stderr[-300:]}"
            pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    part.rename(house)
