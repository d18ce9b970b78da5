"""What a report's folder holds, whoever shows it."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.report import shards
from envmill.report.shards import Fragment, RecordShards
from envmill.report.terrain import draw_map
from tests.lake.test_set_aside import set_aside
from tests.lake.views.example import EASY, FIRST, SHED, fill
from tests.report.conftest import Told, write
from tests.report.opened import overview, record, rows, unpack


def test_the_overview_says_what_the_views_say(example: Told) -> None:
    told = overview(example.folder)
    for name in ("funnel", "pass_rate"):
        asked = fetch(
            example.lake, f"select * exclude (run) from {name} where run = ?", [example.run]
        )
        assert sorted(map(repr, asked)) == sorted(repr(tuple(row.values())) for row in told[name])
    assert told["before"]["run"][0]["run"] == FIRST
    ((candidates,),) = fetch(
        example.lake, "select count(*) from exits where run = ?", [example.run]
    )
    assert told["counts"]["candidates"] == len(rows(example.folder, "candidates")) == candidates
    assert [one["unpriced"] for one in told["costs"]] == [1]
    assert [one["cost"] for one in told["costs"]] == [None]


def test_the_overview_says_what_complaints_came_to(finished: Told) -> None:
    told = {(one["gate"], one["reason"]): one for one in overview(finished.folder)["repairs"]}
    counts = ("sent_back", "mended", "given_up", "unseen", "weakened")
    assert [told["S9", "tool_name"][name] for name in counts] == [2, 0, 1, 0, 1]
    assert [told["S8", "unseen_id"][name] for name in counts] == [2, 1, 0, 1, 1]
    assert sum(one["versions"] for one in overview(finished.folder)["versions"]) == 10


def test_the_overview_says_who_the_users_were(finished: Told) -> None:
    """As many conversations as the attempts that the table counts."""
    told = overview(finished.folder)["users"]
    ((asked,),) = fetch(
        finished.lake,
        "select count(*) from rollouts where form = 'conversation' and run = ?",
        [finished.run],
    )
    assert sum(one["conversations"] for one in told) == asked > 0
    assert all(one["user_faults"] <= one["conversations"] for one in told)
    assert {one["person"] for one in told} <= {"", "scripted", "model"}


def test_whatever_has_a_row_can_be_opened(finished: Told) -> None:
    for row in rows(finished.folder, "candidates"):
        gates = {
            one["gate"]: one["outcome"]
            for one in record(finished.folder, row["subject"])["ledger"]
            if one["stage"] == row["stage"]
        }
        assert gates["exit"] == row["outcome"]
        assert row["gate"] in {"", *gates}
    held = record(finished.folder, EASY.id)
    (bounds,) = [one for one in held["ledger"] if one["gate"] == "bounds"]
    assert bounds["evidence"] in {one["id"] for one in held["evidence"]}
    assert held["scenario"][0]["verifier"] == EASY.verifier.model_dump(mode="json")
    assert record(finished.folder, SHED.id)["environment"][0]["files"] == SHED.files


def test_the_same_lake_gives_the_same_bytes(finished: Told, tmp_path: Path) -> None:
    write(finished.lake, finished.run, tmp_path / "again")
    for file in sorted((finished.folder / "data").iterdir()):
        assert file.read_bytes() == (tmp_path / "again/data" / file.name).read_bytes(), file.name


def test_a_sample_holds_some_of_everything_and_says_so(finished: Told, tmp_path: Path) -> None:
    written = write(finished.lake, finished.run, tmp_path / "few", 7)
    listed = rows(tmp_path / "few", "attempts")
    shown = [row for row in listed if row["shown"]]
    assert (written.attempts, written.shown) == (len(listed), len(shown)) == (19, 7)
    assert {(row["outcome"], row["policy"]) for row in shown} == {
        (row["outcome"], row["policy"]) for row in listed
    }
    assert not overview(tmp_path / "few")["all"]
    with pytest.raises(KeyError):
        record(tmp_path / "few", next(row["id"] for row in listed if not row["shown"]))
    assert [record(tmp_path / "few", row["id"])["rollout"][0]["outcome"] for row in shown] == [
        row["outcome"] for row in shown
    ]


def test_a_row_that_was_set_aside_is_told_as_that(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    fill(lake)
    set_aside(lake, FIRST, "environments", SHED.id)
    write(lake, FIRST, tmp_path / "report")
    held = record(tmp_path / "report", SHED.id)
    assert "environment" not in held
    assert [one["promise"] for one in held["quarantine"]] == ["licence_said"]
    assert [one["rows"] for one in overview(tmp_path / "report")["quarantine"]] == [1]


def test_a_report_takes_the_place_of_a_report_alone(
    finished: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "report"
    (folder / "mine").mkdir(parents=True)
    with pytest.raises(SettingsError, match="not a report"):
        write(finished.lake, finished.run, folder)
    shutil.rmtree(folder)
    shutil.copytree(finished.folder, folder)
    before = (folder / "data/overview.js").read_bytes()
    (folder / "stale").touch()
    monkeypatch.setattr("envmill.report.folder.draw_map", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(finished.lake, finished.run, folder)
    assert (folder / "data/overview.js").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["report"]
    monkeypatch.undo()
    write(finished.lake, finished.run, folder)
    assert not (folder / "stale").exists()


@pytest.mark.parametrize("held", [1, 500, 10**9])
def test_records_are_put_together_whatever_is_held_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """Rows come in any order, some twice: the latest attempt counts."""
    monkeypatch.setattr(shards, "_HELD", held)
    fragments = [
        Fragment(f"id_{one}", "ledger", f"row_{row}", try_, [one, row, try_])
        for one in range(9)
        for row in range(3)
        for try_ in (1, 2)
    ]
    random.Random(held).shuffle(fragments)
    parts = RecordShards(tmp_path, 4)
    for fragment in fragments:
        parts.add(fragment)
    assert parts.write() == 9
    found = {key: value for part in range(4) for key, value in unpack_part(tmp_path, part).items()}
    assert found == {
        f"id_{one}": {"ledger": [[one, row, 2] for row in range(3)]} for one in range(9)
    }
    assert not list(tmp_path.glob("*.jsonl"))


def unpack_part(folder: Path, part: int) -> dict[str, object]:
    (folder / "data").mkdir(exist_ok=True)
    (folder / f"records-{part}.js").replace(folder / f"data/records-{part}.js")
    return unpack(folder, f"records-{part}")


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_environments_have_a_map_too(count: int) -> None:
    assert len(draw_map(["a shed of tools"] * count)) == count


def test_environments_that_share_words_lie_close() -> None:
    sheds = ["members borrow drills from the shed", "members borrow saws from the shed"]
    clinics = ["patients wait for the doctor", "patients call the doctor again"]
    places = draw_map([*sheds, *clinics])
    assert [one["near"] for one in places] == [1, 0, 3, 2]
    at = np.array([[one["x"], one["y"]] for one in places])
    assert np.linalg.norm(at[0] - at[1]) < np.linalg.norm(at[0] - at[2])
