from envmill.base.settings import ROOT
from flows.cli import COMMANDS
from tests.cli.pages import render


def test_the_page_of_the_command_line_is_what_the_program_says() -> None:
    page = render()
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == page, "make docs"
    assert all(f"## `envmill {command.__name__}" in page for command in COMMANDS)
