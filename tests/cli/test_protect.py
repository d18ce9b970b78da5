"""`envmill protect`: a sketch of a benchmark among the protected sets, which gate F3 then reads."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from envmill.base.errors import SettingsError
from envmill.gates.protected_texts import read_protected
from envmill.gates.protecting.sketch import read_sketch
from flows.cli import make_app
from tests.gates.specimens.filtering import PROTECTED


def ask(*words: str | Path, protected: Path) -> Result:
    return CliRunner().invoke(
        make_app(), ["protect", *map(str, words)], env={"ENVMILL_PROTECTED": str(protected)}
    )


def test_a_benchmark_becomes_a_sketch_that_is_in_force_at_once(tmp_path: Path) -> None:
    bench, protected = tmp_path / "bench", tmp_path / "protected"
    bench.mkdir()
    protected.mkdir()
    (bench / "tasks.jsonl").write_text(
        "".join(json.dumps({"said": text}) + "\n" for text in PROTECTED)
    )
    result = ask("mine", bench, "--version", "3", "--licence", "MIT", protected=protected)
    assert result.exit_code == 0, result.output
    assert f"{len(PROTECTED)} texts" in result.stdout
    assert "copied 100%" in result.stdout
    found = read_protected(protected)
    assert found is not None
    assert found.sets == {"mine 3": len(PROTECTED)}
    assert found.find(PROTECTED[0]) is not None
    first = (protected / "mine.sketch").read_bytes()
    assert (
        ask(
            "mine",
            bench,
            "--version",
            "3",
            "--licence",
            "MIT",
            "--out",
            tmp_path / "again.sketch",
            protected=protected,
        ).exit_code
        == 0
    )
    assert (tmp_path / "again.sketch").read_bytes() == first
    assert read_sketch(protected / "mine.sketch").source.licence == "MIT"


def test_what_cannot_be_a_sketch_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for words in (
        ("mine", tmp_path / "empty"),
        ("a/b", tmp_path / "empty"),
        ("mine", tmp_path / "none"),
    ):
        result = ask(*words, protected=tmp_path)
        assert isinstance(result.exception, SettingsError), result.output
    assert not list(tmp_path.rglob("*.sketch"))
