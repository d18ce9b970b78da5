"""The public names: few, pinned, documented, and cheap until they are used."""

import subprocess
import sys

import pytest

import envmill
from envmill.base.settings import ROOT
from envmill.front import public

NAMES = {
    "AuditEntry", "Call", "EnvMillError", "Environment", "Finding", "Observation", "OpenEnvironment", "Outage", "Rollout", "RunConfig",
    "RunSummary", "Scenario", "Session", "Settings", "SettingsError", "Tool", "Verdict", "__version__", "open_environment", "query",
    "run_recipe",
}  # fmt: skip
PAGE = (ROOT / "docs/library.md").read_text(encoding="utf-8")


def test_the_names_are_these_and_few() -> None:
    assert set(public.__all__) == NAMES
    assert {name for name in dir(envmill) if not name.startswith("__")} >= NAMES - {"__version__"}
    assert len(NAMES) <= 25


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_exists_and_is_documented(name: str) -> None:
    assert getattr(envmill, name) is not None
    assert f"`{name}" in PAGE or f"envmill.{name}" in PAGE


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'open_door'"):
        _ = envmill.open_door


def test_the_import_alone_loads_nothing_heavy() -> None:
    code = (
        "import sys, envmill; print([name for name in ('pydantic', 'duckdb', 'pyarrow', "
        "'asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
