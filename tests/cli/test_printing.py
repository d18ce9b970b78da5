"""What commands print: nothing of a model's or a person's text reaches a terminal as a command, nor
a spreadsheet as a formula."""

import ast
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import flows.cli
from flows.cli import printing
from flows.cli.formats import print_csv, print_json
from flows.cli.printing import print_as_json, print_text
from flows.cli.table import show

ATTACKS = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J",
    "\x9b31m",
    "a\x08b",
    "\u202etxt.exe",
    "\u2066x\u2069",
    "\x1b]0;title\x07",
    "\U000e0041",
    "a\xadb",
    "\ud800",
)
COMMANDS = [Path(path) for path in sorted(Path(flows.cli.__file__).parent.glob("*.py"))]
PRINTERS = {
    "printing.py": "the one place",
    "bounds.py": "it ends the process at once",
    "table.py": "Rich draws, and strips",
}


class Answer:
    columns = ("name", "count")

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


@pytest.mark.parametrize("attack", ATTACKS)
def test_texts_are_shown_and_never_obeyed(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_text(f"its name is {attack}\n\tand more")
    show(["name"], [[f"{attack} and more"]])
    print_as_json(json.dumps({"name": attack}, ensure_ascii=False))
    told = capsys.readouterr().out
    assert all(sign.isprintable() or sign in "\n\t" for sign in told), told
    assert "and more" in told
    assert json.loads(told.splitlines()[-1]) == {"name": attack}


def test_plain_texts_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("Grüße: 3 € – a\tb\nc")
    print_text("to the side", err=True)
    assert capsys.readouterr() == ("Grüße: 3 € – a\tb\nc\n", "to the side\n")


def test_json_of_a_question_holds_the_same_values(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(cast(Any, Answer(("\u202eevil\x9b", 1), ("plain", None))), 0)
    told = capsys.readouterr().out
    assert json.loads(told) == [
        {"name": "\u202eevil\x9b", "count": 1},
        {"name": "plain", "count": None},
    ]
    assert all(sign.isprintable() or sign == "\n" for sign in told)


def test_csv_holds_no_formula_and_numbers_stay(capsys: pytest.CaptureFixture[str]) -> None:
    formulas = (
        "=HYPERLINK(1)",
        "+1",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "\u00a0@SUM(1)",
        "\uff1d1+1",
        "\uff20SUM(1)",
        "\ufeff=1",
        "\x00=1",
    )
    print_csv(
        cast(Any, Answer(*((one, -5) for one in formulas), ("plain - text = 1", 2.5), ("", None))),
        0,
    )
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert rows[1:-2] == [[f"'{one}", "-5"] for one in formulas]
    assert rows[-2:] == [["plain - text = 1", "2.5"], ["", ""]]


def test_csv_on_a_terminal_steers_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_csv(cast(Any, Answer(*((one, 1) for one in ATTACKS))), 0)
    assert all(sign.isprintable() or sign == "\n" for sign in capsys.readouterr().out)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_commands_print_in_no_other_way(path: Path) -> None:
    """`say` and `print_as_json` print; whatever else does is listed with its reason."""
    calls = [
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]
    printed = [
        name
        for name in calls
        if name
        in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write", "Console")
    ]
    if path.name == "live.py":
        assert printed == ["Console"]
    elif path.name not in PRINTERS:
        assert not printed
    assert printing.__doc__
