"""The pages on models: their commands and options exist, their settings are read, their SQL
answers, their price entry loads."""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main

from envmill.base.settings import ROOT
from envmill.lake.lake import Lake
from envmill.lake.sql import ask
from envmill.models.prices import Prices
from flows.cli import make_app
from schemas.run import RunConfig
from tests.models.vendors.launch import Loopback, launch

PAGES = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs/models").glob("*.md"))
}
_FOREIGN = {"export", "vllm", "#"}
"""Beginnings of fenced lines that are not ours."""


def _find_blocks(kind: str) -> list[tuple[str, str]]:
    fenced = (
        (page, *found)
        for page, text in PAGES.items()
        for found in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    )
    return [(page, block) for page, found, block in fenced if found == kind]


LINES = sorted(
    {(page, line) for page, block in _find_blocks("") for line in block.splitlines() if line}
)


def test_every_subject_has_its_page() -> None:
    assert {"vendor", "server", "batches", "recordings", "budgets"} <= set(PAGES)


@cache
def _find_options() -> dict[str, set[str]]:
    """Command → its options."""
    group: Any = typer.main.get_command(make_app())
    return {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in group.commands.items()
    }


@pytest.mark.parametrize(
    ("page", "line"), [found for found in LINES if found[1].split()[0] not in _FOREIGN]
)
def test_a_command_and_its_options_exist(page: str, line: str) -> None:
    program, name, *words = shlex.split(line, comments=True)
    assert program == "envmill"
    assert {word for word in words if word.startswith("--")} <= _find_options()[name]


@pytest.mark.parametrize("text", [line for _, line in LINES if "--provider" in line])
def test_a_run_is_one_that_the_factory_takes(text: str) -> None:
    words = shlex.split(text, comments=True)
    given = {
        option[2:].replace("-", "_"): value
        for option, value in pairwise(words)
        if option.startswith("--")
    }
    if "run" in words:
        RunConfig.model_validate_strings(
            {
                name: value.lower() if name in ("reuse", "recording") else value
                for name, value in given.items()
            }
        )


def test_settings_of_the_pages_are_read() -> None:
    read = (ROOT / "envmill/base/settings.py").read_text(encoding="utf-8")
    told = {
        name
        for text in PAGES.values()
        for name in re.findall(r"\b(?:ENVMILL_[A-Z_]+|[A-Z]+_API_KEY)\b", text)
    }
    families = {
        re.sub(r"_(OPENAI|ANTHROPIC|LAB)(?=_|$)", "", name)
        for name in told
        if re.search(r"_(OPENAI|ANTHROPIC|LAB)", name)
    }
    assert families <= {
        "ENVMILL_URL",
        "ENVMILL_STREAM",
        "ENVMILL_ENDPOINT",
        "ENVMILL_ENDPOINT_KEY",
        "ENVMILL_ENDPOINT_STREAM",
    }
    plain = {
        name
        for name in told
        if not re.search(r"_(OPENAI|ANTHROPIC|LAB)", name) and not name.endswith("API_KEY")
    }
    assert plain <= set(re.findall(r"ENVMILL_[A-Z_]+", read))


@pytest.mark.parametrize(("page", "question"), _find_blocks("sql"))
def test_a_question_answers(tmp_path: Path, page: str, question: str) -> None:
    with ask(Lake(tmp_path / "lake"), question) as answer:
        assert answer.columns


@pytest.mark.parametrize(("page", "entries"), _find_blocks("toml"))
def test_a_price_entry_loads(tmp_path: Path, page: str, entries: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(entries)
    assert Prices.load(file).find("openai", "some-model-large") is not None


def _look(vendors: Loopback, tmp_path: Path, spec: str) -> "subprocess.CompletedProcess[str]":
    around = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ENVMILL_", "OPENAI_", "ANTHROPIC_"))
    }
    own = {
        "ENVMILL_HOME": str(tmp_path),
        "ENVMILL_ENDPOINT_LAB": vendors.openai,
        "ENVMILL_ENDPOINT_LAB_KEY": "sk-lab-0123456789abcdef",
    }
    command = [sys.executable, "-m", "flows.cli", "models", spec]
    return subprocess.run(
        command, cwd=ROOT, env=around | own, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.long
def test_a_server_of_ones_own_is_seen_as_the_page_says(tmp_path: Path) -> None:
    with launch() as vendors:
        vendors.set(keys=["sk-lab-0123456789abcdef"])
        seen = _look(vendors, tmp_path, "openai:loopback-large@lab")
    assert seen.returncode == 0, seen.stdout + seen.stderr
    assert "\tyes\t" in seen.stdout
    assert "sk-lab" not in seen.stdout + seen.stderr
