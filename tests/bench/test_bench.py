"""The runner: verdicts, rows, and what it says of an area that is not there."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from envmill.runtime.db import adopt_sessions
from tests.bench import __main__ as bench
from tests.bench import sql
from tests.bench.target import Measurement, Target, judge, read_targets

HALF = Measurement("call", "a call", measured=1.0, baseline=2.0, unit="µs")


@pytest.mark.parametrize(
    ("measurement", "target", "verdict"),
    [
        pytest.param(HALF, Target(0.5, "at_most"), "ok", id="ratio-met"),
        pytest.param(HALF, Target(0.4, "at_most"), "short", id="ratio-missed"),
        pytest.param(HALF, Target(0.6, "at_least"), "short", id="ratio-too-small"),
        pytest.param(HALF, Target(1.0, "at_most", "measured"), "ok", id="absolute"),
        pytest.param(Measurement("a", "b", 1.0), Target(9, "at_most"), "short", id="no-baseline"),
        pytest.param(HALF, None, "no target", id="no-target"),
    ],
)
def test_verdict(measurement: Measurement, target: Target | None, verdict: str) -> None:
    assert judge(measurement, target) == verdict


def test_every_target_belongs_to_an_area() -> None:
    targets = read_targets(bench.FOLDER / "targets.toml")
    assert {name.split(".")[0] for name in targets} <= set(bench.list_areas())


def test_an_area_prints_and_keeps_its_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    area = ModuleType("tests.bench.sandbox")
    area.__dict__["rows"] = lambda: [
        {"id": "call", "what": "a call", "measured": 14.0, "baseline": 2.0, "unit": "µs"}
    ]
    monkeypatch.setitem(sys.modules, "tests.bench.sandbox", area)
    monkeypatch.setattr(bench, "list_areas", lambda: ["sandbox"])
    monkeypatch.setattr(bench, "HISTORY", tmp_path / "data/bench.jsonl")
    bench.main(["sandbox"])
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "sandbox | call | a call | 14 µs | 2 µs | 7 | ≤ 6× | short"
    )
    kept = json.loads((tmp_path / "data/bench.jsonl").read_text())
    assert (kept["measured"], kept["verdict"], kept["area"]) == (14.0, "short", "sandbox")


def test_an_unknown_area_names_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(["weather"])
    assert ended.value.code == 2
    assert "no area weather; there are: " in capsys.readouterr().err


def test_rows_of_change_sets_keep_their_names() -> None:
    """`make bench AREA=sql` looks its growth up by them, and stored rows are compared by them."""
    adopt_sessions("apsw")
    names = {row["id"] for row in sql._change_sets(100)}
    assert names == {
        f"{what}_{backend}_100"
        for what in ("changes", "reset")
        for backend in ("sessions", "triggers")
    }
