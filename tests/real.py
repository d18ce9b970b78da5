"""Where the real model-written environments lie: a folder named by ENVMILL_REAL_PROGRAMS; they are
never copied here."""

import os
from pathlib import Path

import pytest


def find_real_programs() -> Path:
    """The folder; without one the test is skipped, and fails in CI."""
    folder = os.environ.get("ENVMILL_REAL_PROGRAMS", "")
    if not folder:
        reason = "ENVMILL_REAL_PROGRAMS names no folder of real model-written environments"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return Path(folder)
