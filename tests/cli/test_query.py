"""Questions from the command line: forms of an answer, bounds that hold whatever is asked, and runs
meant by the beginning of their id."""

# pyright: reportMissingTypeStubs=false

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from envmill.base.errors import Refused, SettingsError
from envmill.base.settings import ROOT
from envmill.lake.lake import Lake
from flows.cli import formats, make_app
from flows.cli.question import ask, find_run
from flows.cli.table import show
from flows.local.home import Home
from tests.cli.conftest import start_run
from tests.lake.views.example import FIRST, SECOND, fill


@pytest.fixture
def full(home: Home) -> Home:
    """A home whose lake holds two runs of rows."""
    fill(Lake(home.settings.lake))
    return home


@pytest.fixture
def two_runs(home: Home) -> Home:
    start_run(home, "first")
    start_run(home, "second")
    return home


def envmill(home: Home, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """The program itself, in a process of its own."""
    environ = {
        "PATH": os.environ["PATH"],
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
    }
    command = [sys.executable, "-m", "flows.cli", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environ,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def invoke(home: Home, *arguments: str) -> Result:
    """The same in this process, where no error is expected."""
    environ = {"ENVMILL_HOME": str(home.folder), "ENVMILL_LAKE": home.settings.lake}
    result = CliRunner().invoke(make_app(arguments), arguments, env=environ)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_question_is_answered(two_runs: Home) -> None:
    assert ask(two_runs, "with r as (select run from runs) select count(*) as n from r") == (
        ["n"],
        [(2,)],
    )
    assert ask(two_runs, "explain select * from runs")[1]


def test_only_reading_is_done(two_runs: Home) -> None:
    with pytest.raises(Refused, match="one SELECT or EXPLAIN"):
        ask(two_runs, "drop view runs")


def test_the_latest_run_is_meant_when_none_is_named(two_runs: Home) -> None:
    assert find_run(two_runs) == "second"
    assert find_run(two_runs, "first") == "first"
    assert find_run(two_runs, "f") == "first"
    with pytest.raises(SettingsError, match=r"No run third .*first, second"):
        find_run(two_runs, "third")


def test_an_ambiguous_run_is_not_guessed(full: Home) -> None:
    with pytest.raises(SettingsError, match=f"beginning of 2 runs: {FIRST}, {SECOND}"):
        find_run(full, "nightly")


def test_programs_get_one_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    show(["a", "b"], [(1, None), ("tab\there", "line\nbreak \\")])
    assert capsys.readouterr().out == "a\tb\n1\t\ntab\\there\tline\\nbreak \\\\\n"


VALUES = (
    "select 1 as n, null as nothing, 'a,\"b\"' as text, [1, 2] as list, date '2026-11-21' as "
    "day, 'nan'::double as odd, 2::hugeint as big"
)


def test_json_is_one_array_of_objects(full: Home) -> None:
    done = invoke(full, "sql", "--json", VALUES)
    assert json.loads(done.stdout) == [
        {
            "n": 1,
            "nothing": None,
            "text": 'a,"b"',
            "list": [1, 2],
            "day": "2026-11-21",
            "odd": None,
            "big": 2,
        }
    ]
    assert json.loads(invoke(full, "sql", "--json", "select 1 where false").stdout) == []


def test_csv_can_be_read_back(full: Home) -> None:
    rows = list(csv.reader(io.StringIO(invoke(full, "sql", "--csv", VALUES).stdout)))
    assert rows == [
        ["n", "nothing", "text", "list", "day", "odd", "big"],
        ["1", "", 'a,"b"', "[1, 2]", "2026-11-21", "nan", "2"],
    ]


def test_parquet_holds_every_row(full: Home, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    done = invoke(full, "sql", "--parquet", str(path), "select range as n from range(25000)")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "25,000 rows" in done.stderr
    table: Any = pq.read_table(path)
    assert table["n"].to_pylist() == list(range(25000))


def test_nothing_is_written_into_the_lake_or_half(full: Home, tmp_path: Path) -> None:
    inside = Path(full.settings.lake) / "runs.parquet"
    with pytest.raises(SettingsError, match="lies in the lake"):
        invoke(full, "sql", "--parquet", str(inside), "from runs")
    assert not inside.exists()
    half = tmp_path / "half.parquet"
    with pytest.raises(SettingsError, match="Conversion Error"):
        invoke(
            full,
            "sql",
            "--parquet",
            str(half),
            "select if(range = 5000, 'x', '1')::int from range(6000)",
        )
    assert list(tmp_path.glob("*half*")) == []


def test_a_question_can_come_from_standard_input(full: Home) -> None:
    assert envmill(full, "sql", "-", given="select count(*) as n\nfrom runs\n").stdout == "n\n2\n"


def test_lines_are_bounded_and_the_rest_is_told(full: Home) -> None:
    done = invoke(full, "sql", "select range from range(10001)")
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 10_001)
    assert "first 10,000 rows; there are more" in done.stderr
    done = invoke(full, "sql", "select range from range(10000)")
    assert (len(done.stdout.splitlines()), done.stderr) == (10_001, "")
    assert (
        invoke(full, "sql", "--limit", "2", "select range from range(10)").stdout == "range\n0\n1\n"
    )


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["select 1"], 0, "", id="done"),
        pytest.param(["selec 1"], 2, "syntax error", id="wrong question"),
        pytest.param(["--json", "--csv", "select 1"], 2, "Choose one of", id="two forms"),
        pytest.param(["--memory", "much", "select 1"], 2, "--memory", id="wrong memory"),
        pytest.param(["--nonsense", "select 1"], 2, "No such option", id="wrong option"),
        pytest.param(["drop view runs"], 4, "one SELECT or EXPLAIN", id="refused"),
        pytest.param(
            ["--timeout", "0.2", "select count(*) from range(10000000) a, range(10000000) b"],
            4,
            "longer than 0.2 s",
            id="too long",
        ),
    ],
)
def test_exit_codes_are_the_documented_ones(
    full: Home, arguments: list[str], code: int, said: str
) -> None:
    done = envmill(full, "sql", *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "leaked" not in done.stderr


def test_a_damaged_lake_is_named_and_ends_with_1(full: Home) -> None:
    (gone, *_) = Lake(full.settings.lake).files("rollouts", FIRST)
    Path(gone).unlink()
    done = envmill(full, "sql", "select count(*) from rollouts")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{gone} counts and is gone. Restore it from a copy, or delete attrition/" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    "question",
    [
        pytest.param("select repeat('x', 3000000000) as x", id="one value of 3 GB"),
        pytest.param(
            "select len(repeat('x', 4000000000)) as n", id="a value DuckDB does not count"
        ),
        pytest.param("select list_sum(range(2000000000))", id="a list inside one function"),
    ],
)
def test_an_answer_of_gigabytes_is_refused_before_it_is_there(full: Home, question: str) -> None:
    """The kernel's own bound, since DuckDB counts neither what one function makes nor what Python
    holds."""
    began = time.monotonic()
    done = envmill(full, "sql", "--timeout", "20", question)
    assert done.returncode == 4, done.stderr[-500:]
    assert "memory" in done.stderr
    assert time.monotonic() - began < 30


def test_long_rows_are_bounded_too(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_TEXT", 10_000)
    done = invoke(full, "sql", "select repeat('x', 1000) as x from range(1000000000)")
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 11)
    assert "first 10 rows; the rest is too long" in done.stderr


@pytest.mark.long
def test_what_cannot_be_interrupted_is_ended(full: Home) -> None:
    """One function over one value never looks whether somebody waits."""
    question = "select length(regexp_replace(repeat('ab', 300000000), 'b', 'c', 'g'))"
    began = time.monotonic()
    done = envmill(full, "sql", "--timeout", "1", "--memory", "2GB", question)
    assert done.returncode == 4, done.stderr[-500:]
    assert time.monotonic() - began < 60


def test_a_pipe_that_closes_early_is_no_crash(full: Home) -> None:
    command = f"{sys.executable} -m flows.cli sql --csv 'select * from range(1000000)' | head -1"
    environ = {
        "PATH": os.environ["PATH"],
        "ENVMILL_HOME": str(full.folder),
        "ENVMILL_LAKE": full.settings.lake,
    }
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, "Traceback" in done.stderr) == ("range\n", False)
