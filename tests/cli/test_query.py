from pathlib import Path

import pytest

from envmill.errors import SettingsError
from flows.cli.question import ask, find_run
from flows.cli.table import show
from flows.local.home import Home
from tests.cli.conftest import start_run


@pytest.fixture(autouse=True)
def _two_runs(home: Home) -> None:
    start_run(home, "first")
    start_run(home, "second")


def test_a_question_is_answered(home: Home) -> None:
    assert ask(home, "with r as (select run from runs) select count(*) as n from r") == (["n"], [(2,)])
    assert ask(home, "explain select * from runs")[1]


@pytest.mark.parametrize(
    "statement",
    [
        "drop view runs",
        "select 1; select 2",
        "copy (select 1) to 'out.csv'",
        "set threads = 1",
        "create table t (a int)",
        "attach 'x.db'",
        "",
    ],
)
def test_only_one_reading_statement_is_taken(home: Home, statement: str) -> None:
    with pytest.raises(SettingsError, match="one SELECT or EXPLAIN"):
        ask(home, statement)


@pytest.mark.parametrize("path", ["/etc/passwd", "{outside}"])
def test_nothing_outside_the_lake_can_be_read(home: Home, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "secret.csv"
    outside.write_text("a\n1\n")
    with pytest.raises(SettingsError, match="cannot be answered"):
        ask(home, f"select * from read_csv('{path.format(outside=outside)}')")


def test_a_mistyped_question_is_no_crash(home: Home) -> None:
    with pytest.raises(SettingsError, match=r"cannot be answered.*nowhere"):
        ask(home, "select * from nowhere")


def test_the_latest_run_is_meant_when_none_is_named(home: Home) -> None:
    assert find_run(home) == "second"
    assert find_run(home, "first") == "first"
    with pytest.raises(SettingsError, match=r"No run third .*first, second"):
        find_run(home, "third")


def test_programs_get_one_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    show(["a", "b"], [(1, None), ("tab\there", "line\nbreak \\")])
    assert capsys.readouterr().out == "a\tb\n1\t\ntab\\there\tline\\nbreak \\\\\n"
