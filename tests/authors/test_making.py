"""The runs of a measurement: twenty environments and sixty scenarios, each by options that the
command line takes."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.authors import making
from tests.authors.__main__ import CUSTOMER
from tests.authors.making import list_plan, make_runs


def test_a_customer_gets_twenty_environments_and_sixty_scenarios(tmp_path: Path) -> None:
    plan = list(list_plan(tmp_path, CUSTOMER))
    assert sum(one.environments for one in plan) == 20
    assert sum(one.environments * one.scenarios for one in plan) == 60
    assert len({one.name for one in plan}) == len(plan)


def test_too_few_texts_are_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds 2 texts for envfactory, and 9 are wanted"):
        list(list_plan(tmp_path, {"envfactory": (9, 1)}))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that were to be run; the second run fails."""
    found: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        found.append(command)
        return SimpleNamespace(
            returncode=int(sum("run" in one for one in found) == 2 and "run" in command)
        )

    monkeypatch.setattr(making.subprocess, "run", run)
    return found


def test_a_run_that_failed_is_made_again_and_no_other(
    tmp_path: Path, asked: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    plan = list(list_plan(tmp_path, {"awm": (2, 1), "endless_terminals": (1, 1)}))
    make_runs(plan, tmp_path, "openai:m@s", "openai:j@s", "openai:p@s")
    assert [one[3] for one in asked] == ["up", "run", "run", "run", "down"]
    assert f"{plan[1].name} ended with 1" in capsys.readouterr().err
    asked.clear()
    make_runs(plan, tmp_path, "openai:m@s", "openai:j@s", "openai:p@s")
    assert [one[3] for one in asked] == ["up", "run", "down"]
    assert str(tmp_path / "texts") in " ".join(asked[1])


@pytest.mark.long
def test_the_command_line_takes_what_a_run_is_given(tmp_path: Path, asked: list[list[str]]) -> None:
    make_runs(list(list_plan(tmp_path, {"awm": (1, 1)})), tmp_path, "offline", "offline", "offline")
    command = [*next(one for one in asked if "run" in one), "--dry-run"]
    home = {
        **os.environ,
        "ENVMILL_HOME": str(tmp_path / "home"),
        "ENVMILL_LAKE": str(tmp_path / "lake"),
    }
    told = subprocess.Popen(
        [sys.executable, *command[1:]],
        env=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ).communicate()[0]
    assert "observe" in told, told
    assert "Usage" not in told, told
