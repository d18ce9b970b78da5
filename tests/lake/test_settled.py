"""The index of settled runs: what it says is what listing says, whatever happened to a run since."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from envmill.base.errors import LakeError
from envmill.lake import settled
from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.rollup import find_rollups
from envmill.lake.settled import find_settled, write_index
from envmill.lake.stores import pick_store
from envmill.lake.views import VIEWS, open_views
from schemas.ledger import Attrition
from schemas.quality import Quarantine
from schemas.seed import Seed
from schemas.tables import TABLES

SQLS = {name: view.sql for name, view in VIEWS.items()}
RUNS = ["r0", "r1", "r2"]
QUESTIONS = (
    "select run, entered, kept from funnel order by all",
    "select run, id from seeds order by all",
    "select run, subject, try_number from attrition order by all",
    "select * from runs order by all",
)


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled, "LEAST", 1)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A disk, unless a test asks for both."""
    return (
        f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
        if getattr(request, "param", "disk") == "s3"
        else str(tmp_path / "lake")
    )


@pytest.fixture
def fill(
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Callable[..., None]:
    def fill(lake: Lake, run: str, bucket: int = 0, outcome: str = "kept") -> None:
        lake.publish(
            [make_seed(bucket)],
            [make_exit(f"s{bucket}", outcome, 1, 1.0)],
            make_stamp(bucket=bucket, run=run),
        )

    return fill


@pytest.fixture
def lake(place: str, fill: Callable[..., None]) -> Lake:
    """Three runs that are finished and compacted, and an index of them."""
    lake = Lake(pick_store(place))
    for run in RUNS:
        note(lake, run, "started", {})
        fill(lake, run, 0)
        fill(lake, run, 1)
        note(lake, run, "finished", {})
        compact(lake, run)
    assert write_index(lake, SQLS, least=1, settling=0.0) == 3
    return lake


def ask_all(lake: Lake) -> list[Any]:
    """Answers with the index, which are those without it."""
    said = [_ask(lake, question) for question in QUESTIONS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("envmill.lake.views.opening.find_settled", lambda *_: {})
        assert [_ask(lake, question) for question in QUESTIONS] == said
    return said


def _ask(lake: Lake, question: str) -> list[Any]:
    with open_views(lake, question=question) as connection:
        return connection.sql(question).fetchall()


def find(lake: Lake, *tables: str) -> set[str]:
    return {*find_settled(lake, RUNS, SQLS, tables)}


@pytest.mark.long
@pytest.mark.parametrize("place", ["disk", "s3"], indirect=True)
def test_what_it_says_is_what_listing_says(lake: Lake) -> None:
    found = find_settled(lake, RUNS, SQLS, [*TABLES, *VIEWS])
    assert {*found} == {*RUNS}
    for run, one in found.items():
        assert one.snapshot == lake.snapshot(run)
        assert one.rollups == find_rollups(lake, lake.snapshot(run), SQLS)
    some = find_settled(lake, RUNS, SQLS, ["seeds", "funnel"])["r1"]
    assert set(some.snapshot.files) == {"seeds", "attrition", "quarantine"}
    assert set(some.rollups) == {"funnel"}
    ask_all(lake)


def test_no_run_is_listed_and_the_answer_is_right(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask_all(lake)
    listed: list[str] = []
    monkeypatch.setattr(Lake, "snapshot", lambda _, run: listed.append(run))
    assert [_ask(lake, question) for question in QUESTIONS] == before
    assert listed == []


@pytest.mark.long
@pytest.mark.parametrize("change", ["batch", "event", "aside", "merge", "rollup"])
def test_a_run_that_changed_is_not_in_it(
    lake: Lake, fill: Callable[..., None], change: str, make_stamp: Callable[..., Stamp]
) -> None:
    before = ask_all(lake)
    if change == "batch":
        fill(lake, "r1", 7, "dropped")
    elif change == "event":
        note(lake, "r1", "started", {})
    elif change == "aside":
        row = _ask(lake, "select id from seeds where run = 'r1' order by id")[0][0]
        aside = Quarantine(table_name="seeds", row=row, promise="p", detail="d", content={})
        lake.put(Quarantine, [aside], "aside-1", make_stamp(run="r1"))
    elif change == "merge":
        fill(lake, "r1", 7)
        compact(lake, "r1")
    else:
        (path,) = [one for one in lake.store.entries("_rollup/run=r1") if "/funnel-" in one.name]
        lake.store.delete(path.name)
    everything = find(lake, *TABLES)
    assert everything == {"r0", "r2"}
    after = ask_all(lake)
    assert (after == before) == (change == "rollup")


@pytest.mark.long
def test_what_was_deleted_by_hand_is_told_and_not_answered_wrongly(lake: Lake) -> None:
    (seeds,) = lake.snapshot("r1", ["seeds"]).files["seeds"]
    lake.store.delete(seeds.name)
    assert find(lake, "seeds") == {"r0", "r2"}
    with pytest.raises((LakeError, duckdb.Error)):
        _ask(lake, "select id from seeds")


def test_a_run_that_was_removed_leaves_no_row(lake: Lake) -> None:
    before = _ask(lake, QUESTIONS[0])
    for top in lake.store.folders(""):
        for entry in lake.store.entries(f"{top}/run=r1"):
            lake.store.delete(entry.name)
    lake.store.delete("_runs/r1.json")
    assert _ask(lake, QUESTIONS[0]) == [row for row in before if row[0] != "r1"]
    assert "r1" not in find(lake, "seeds")


@pytest.mark.long
@pytest.mark.parametrize("loss", ["all", "head", "part", "damage", "views"])
def test_without_it_runs_are_listed_and_compaction_makes_it_again(
    lake: Lake, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask_all(lake)
    sqls = SQLS
    (head,) = lake.store.entries("_settled")
    (place,) = lake.store.folders("_settled")
    parts = [entry.name for entry in lake.store.entries(f"_settled/{place}")]
    if loss == "damage":
        lake.store.delete(head.name)
        lake.store.put_if_absent(head.name, b'{"form": 1')
    elif loss == "views":
        sqls = SQLS | {"runs": SQLS["runs"] + " "}
    else:
        gone = {"all": [head.name, *parts], "head": [head.name], "part": parts[:1]}[loss]
        for name in gone:
            lake.store.delete(name)
    everything = find_settled(lake, RUNS, sqls, [*TABLES])
    assert everything == {}
    assert ask_all(lake) == before
    if loss != "views":
        assert write_index(lake, SQLS, least=1, settling=0.0) == 3
        assert find(lake, *TABLES) == {*RUNS}


@pytest.mark.long
def test_compaction_makes_it_again_once_it_lacks_enough(
    lake: Lake, fill: Callable[..., None]
) -> None:
    assert write_index(lake, SQLS, least=1, settling=0.0) == 0, "nothing changed"
    fill(lake, "r1", 7)
    note(lake, "r1", "finished", {})
    compact(lake, "r1")
    assert write_index(lake, SQLS, least=2, settling=0.0) == 0, "one run is not enough"
    assert write_index(lake, SQLS, least=1, settling=0.0) == 3
    assert find(lake, *TABLES) == {*RUNS}
    ask_all(lake)
    for number in (8, 9):
        fill(lake, "r1", number)
        note(lake, "r1", "finished", {})
        compact(lake, "r1")
        assert write_index(lake, SQLS, least=1, settling=0.0) == 3
    assert len(lake.store.entries("_settled")) == 2, "this one and the one before"
    places = [f"_settled/{name}" for name in lake.store.folders("_settled")]
    assert sum(bool(lake.store.entries(place)) for place in places) == 2
    ask_all(lake)


@pytest.mark.long
def test_a_run_that_changes_while_it_is_looked_at_stays_out(
    lake: Lake, fill: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in RUNS:
        note(lake, run, "started", {})
        note(lake, run, "finished", {})
        compact(lake, run)
    real = settled._take

    def take(lake: Lake, run: str, views: Any) -> Any:
        found = real(lake, run, views)
        if run == "r2":
            fill(lake, "r2", 9)
        return found

    monkeypatch.setattr(settled, "_take", take)
    assert write_index(lake, SQLS, least=1, settling=0.0) == 2
    assert find(lake, *TABLES) == {"r0", "r1"}
    ask_all(lake)


def test_two_changes_in_one_tick_are_not_missed(
    tmp_path: Path, fill: Callable[..., None], make_stamp: Callable[..., Stamp]
) -> None:
    """A disk's clock ticks: a folder that has just changed may change again without showing it."""
    lake = Lake(tmp_path / "lake")
    for run in RUNS:
        note(lake, run, "started", {})
        fill(lake, run)
        note(lake, run, "finished", {})
        compact(lake, run)
    folder = tmp_path / "lake/run_events/run=r1"
    assert write_index(lake, SQLS, least=1, settling=60.0) == 0
    _age(tmp_path / "lake")
    now = folder.stat()
    os.utime(folder)
    assert write_index(lake, SQLS, least=1, settling=60.0) == 2
    os.utime(folder, ns=(now.st_atime_ns, now.st_mtime_ns))
    assert find(lake, *TABLES) == {"r0", "r2"}


def _age(lake: Path) -> None:
    for folder in lake.glob("*/run=*"):
        now = folder.stat()
        os.utime(folder, ns=(now.st_atime_ns, now.st_mtime_ns - 3600 * 10**9))


@pytest.mark.long
def test_a_lake_that_was_copied_is_listed(lake: Lake, place: str, tmp_path: Path) -> None:
    before = ask_all(lake)
    shutil.copytree(place, tmp_path / "copy", copy_function=shutil.copy)
    for folder in (tmp_path / "copy").glob("*/run=*"):
        os.utime(folder)
    copy = Lake(tmp_path / "copy")
    assert find(copy, *TABLES) == set()
    assert ask_all(copy) == before
