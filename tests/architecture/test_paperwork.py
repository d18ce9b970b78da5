"""What the papers say is what the program does: commands, tables, settings, ignored state."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from envmill.agents import POLICIES
from envmill.base.settings import ROOT
from envmill.interop.exporters import EXPORTERS
from envmill.kinds import KINDS
from envmill.recipes import RECIPES
from flows.cli import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")
CATALOGUE = (ROOT / "docs/catalogue.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)")
PAPERS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md")
}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _find_words(pattern: str) -> list[tuple[str, str]]:
    """`make x` and `envmill x` in fenced lines and inline code alike."""
    return sorted(
        {
            (name, word)
            for name, text in PAPERS.items()
            for word in re.findall(rf"(?:^|`){pattern} ([a-z][a-z-]*)", text, re.MULTILINE)
        }
    )


@pytest.mark.parametrize(("paper", "target"), _find_words("make"))
def test_make_target_exists(paper: str, target: str) -> None:
    assert target in TARGETS, f"{paper} says `make {target}`"


@pytest.mark.parametrize(("paper", "command"), _find_words("envmill"))
def test_command_exists(paper: str, command: str) -> None:
    assert command in {function.__name__ for function in COMMANDS}, (
        f"{paper} says `envmill {command}`"
    )


def test_every_command_has_a_section() -> None:
    told = set(re.findall(r"^## `envmill ([a-z-]+)", CLI, re.MULTILINE))
    assert {function.__name__.rstrip("_") for function in COMMANDS} == told


@pytest.mark.parametrize(
    ("heading", "members"),
    [
        ("kind", KINDS),
        ("recipe", RECIPES),
        ("policy", POLICIES),
        ("exporter", EXPORTERS),
    ],
)
def test_table_of_the_catalogue_lists_what_exists(heading: str, members: Iterable[str]) -> None:
    table = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", CATALOGUE, re.MULTILINE)
    assert table is not None
    assert set(re.findall(r"^\| `(\w+)`", table[1], re.MULTILINE)) == set(members)


def test_settings_of_the_page_are_read() -> None:
    read = set(re.findall(r"ENVMILL_[A-Z_]+", (ROOT / "envmill/base/settings.py").read_text()))
    assert set(re.findall(r"ENVMILL_[A-Z_]+", SETTINGS)) == read


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            waiting += [found for found in find_links(page) if found.suffix == ".md"]
    assert sorted(set((ROOT / "docs").rglob("*.md")) - seen) == []


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page: Path) -> None:
    assert [str(found) for found in find_links(page) if not found.exists()] == []


def find_links(page: Path) -> Iterator[Path]:
    """Files and folders that a page links to; of a folder, its own page where it has one."""
    for link in LINK.findall(
        re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ):
        if "://" not in link and not link.startswith("mailto:"):
            found = (page.parent / link).resolve()
            yield found / "README.md" if (found / "README.md").exists() else found


def test_readme_says_what_offline_means() -> None:
    assert "pass rates show that the plumbing works" in README


def test_agents_page_is_short() -> None:
    assert len(PAPERS["AGENTS.md"].splitlines()) <= 60


@pytest.mark.parametrize(
    "made",
    [
        ".venv/x",
        ".envmill/demo/x",
        ".stamps/x",
        "data/lake/x",
        "data/bundles/x",
        "data/bench.jsonl",
    ],
)
def test_what_is_made_is_ignored(made: str) -> None:
    checked = subprocess.run(
        ["git", "check-ignore", "-q", made], cwd=ROOT, check=False, capture_output=True, timeout=10
    )
    if checked.returncode == 128:
        pytest.skip("not a git checkout")
    assert checked.returncode == 0


SECTIONS = {
    name: text
    for name, text in re.findall(
        r"^## `envmill ([a-z-]+)[^\n]*\n(.*?)(?=^## |\Z)", CLI, re.MULTILINE | re.DOTALL
    )
}


def find_unknown_options(text: str) -> Iterator[str]:
    """Options in fenced lines that the command does not have."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for command, rest in re.findall(r"^envmill ([a-z-]+)([^\n#]*)", block, re.MULTILINE):
            known = set(re.findall(r"--[a-z-]+", SECTIONS.get(command, "")))
            yield from (
                f"{command} {option}"
                for option in re.findall(r"--[a-z][a-z-]*", rest)
                if option not in known
            )


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"], ids=lambda page: page.name
)
def test_options_on_a_page_exist(page: Path) -> None:
    assert list(find_unknown_options(page.read_text(encoding="utf-8"))) == []


def test_an_option_that_does_not_exist_is_found() -> None:
    assert list(
        find_unknown_options("```\nenvmill run --seed 3 --planets 9\nenvmill fly --high\n```\n")
    ) == ["run --planets", "fly --high"]
