"""What the papers say is what the program does: commands, tables, settings, ignored state."""

import re
import subprocess
from collections.abc import Iterable

import pytest

from envmill.agents import POLICIES
from envmill.gates import DECISIONS, GATES
from envmill.interop.exporters import EXPORTERS
from envmill.kinds import KINDS
from envmill.lake.views import VIEWS
from envmill.recipes import RECIPES
from envmill.settings import ROOT
from flows.cli import COMMANDS
from schemas.tables import TABLES

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPERS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md")}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _find_words(pattern: str) -> list[tuple[str, str]]:
    """`make x` and `envmill x` in fenced lines and inline code alike."""
    return sorted(
        {(name, word) for name, text in PAPERS.items() for word in re.findall(rf"(?:^|`){pattern} ([a-z][a-z-]*)", text, re.MULTILINE)}
    )


@pytest.mark.parametrize(("paper", "target"), _find_words("make"))
def test_make_target_exists(paper: str, target: str) -> None:
    assert target in TARGETS, f"{paper} says `make {target}`"


@pytest.mark.parametrize(("paper", "command"), _find_words("envmill"))
def test_command_exists(paper: str, command: str) -> None:
    assert command in {function.__name__ for function in COMMANDS}, f"{paper} says `envmill {command}`"


def test_every_command_is_in_the_readme() -> None:
    told = {word for paper, word in _find_words("envmill") if paper == "README.md"} | {"demo"}
    assert {function.__name__ for function in COMMANDS} <= told


@pytest.mark.parametrize(
    ("heading", "members"),
    [
        ("kind", KINDS),
        ("recipe", RECIPES),
        ("gate", {**GATES, **DECISIONS}),
        ("policy", POLICIES),
        ("exporter", EXPORTERS),
    ],
)
def test_table_of_the_readme_lists_what_exists(heading: str, members: Iterable[str]) -> None:
    table = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert table is not None
    assert set(re.findall(r"^\| `(\w+)`", table[1], re.MULTILINE)) == set(members)


def test_readme_names_every_table_and_view() -> None:
    assert {*TABLES, *VIEWS} - set(re.findall(r"`(\w+)`", README)) == set()


def test_settings_of_the_readme_are_read() -> None:
    read = set(re.findall(r"ENVMILL_[A-Z_]+", (ROOT / "envmill/settings.py").read_text()))
    assert set(re.findall(r"ENVMILL_[A-Z_]+", README)) == read


def test_readme_says_what_offline_means() -> None:
    assert "pass rates show that the plumbing works" in README


def test_agents_page_is_short() -> None:
    assert len(PAPERS["AGENTS.md"].splitlines()) <= 60


@pytest.mark.parametrize("made", [".venv/x", ".envmill/demo/x", ".stamps/x", "data/lake/x", "data/bundles/x", "data/bench.jsonl"])
def test_what_is_made_is_ignored(made: str) -> None:
    checked = subprocess.run(["git", "check-ignore", "-q", made], cwd=ROOT, check=False, capture_output=True, timeout=10)
    if checked.returncode == 128:
        pytest.skip("not a git checkout")
    assert checked.returncode == 0
