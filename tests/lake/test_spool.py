"""The spool: records on disk, as the plain reading finds them, whatever was written twice."""

import random
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp, to_arrow
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.spool import RowSpool, StoredRecords, pack
from schemas.environment import Test
from schemas.stored import StoredRows, unite
from tests.specimens import make_environment, make_tests

MARK = Fingerprint("environments-build", "f" * 20)
STAMP = Stamp("r1", MARK.step, MARK.fingerprint, 0, 1, "0", "2026-01-01T00:00:00+00:00")


def make_test(number: int, owner: int, text: str) -> Test:
    (some, *_) = make_tests(make_environment())
    return Test.model_validate(
        some.model_dump(exclude={"id"})
        | {
            "environment": f"env_{owner}",
            "name": f"test {number}",
            "initial_state": {"t": {text: {}}},
        }
    )


def fill(lake: Lake, dice: random.Random) -> None:
    """Batches in which one row in three comes again, of another step and of a later attempt, too."""
    for attempt in range(1, 6):
        for step in ("environments-build", "environments-verify"):
            rows = [
                make_test(number, number % 5, f"{step} {attempt}")
                for number in dice.sample(range(60), 20)
            ]
            stamp = replace(STAMP, step=step, bucket=dice.randrange(3), try_number=attempt)
            assert lake.publish(rows, [], stamp)


@pytest.fixture
def stored(tmp_path: Path) -> tuple[list[Test], StoredRecords[Test]]:
    """What the lake reads at once, and the same in a spool."""
    lake = Lake(tmp_path / "lake")
    fill(lake, random.Random(3))
    return lake.read(Test, "r1", MARK), RowSpool().hold(
        Test, lake.scan(Test, "r1", MARK), "environment"
    )


def test_holds_what_the_lake_reads(stored: tuple[list[Test], StoredRecords[Test]]) -> None:
    plain, rows = stored
    assert len(plain) > 20
    assert [*rows] == plain
    assert [rows.get(one.id) for one in plain] == plain
    assert rows[-1] == plain[-1]
    assert [*rows[2:7]] == plain[2:7]
    owners = {one.environment for one in plain}
    assert {owner: rows.of(owner) for owner in owners} == {
        owner: tuple(one for one in plain if one.environment == owner) for owner in owners
    }
    assert rows.owners() == {one.id: one.environment for one in plain}


def test_keeps_some_and_knows_no_others(stored: tuple[list[Test], StoredRecords[Test]]) -> None:
    plain, rows = stored
    names = {one.id for one in plain[::3]}
    kept = rows.keep(names)
    assert [*kept] == plain[::3]
    assert kept.find(plain[1].id) is None
    assert all(one.id in names for one in kept.of(plain[0].environment))
    with pytest.raises(KeyError):
        kept.get(plain[1].id)


def test_rows_that_come_again_change_nothing(tmp_path: Path) -> None:
    """As they do when a run is compacted while it is read."""
    lake = Lake(tmp_path / "lake")
    fill(lake, random.Random(3))
    parts = [*lake.scan(Test, "r1", MARK)]
    assert [*RowSpool().hold(Test, [*parts, *reversed(parts)])] == lake.read(Test, "r1", MARK)


def test_a_shelf_gives_back_what_was_put_there() -> None:
    shelf = RowSpool().shelve(lambda value: [*value], frozenset)
    shelf.put_all((f"name {number}", frozenset({number, number + 1})) for number in range(500))
    shelf.put("name 7", frozenset({"seven"}))
    assert shelf.get("name 7") == {"seven"}
    assert shelf.get("name 499") == {499, 500}
    assert shelf.get("nobody") is None


def test_a_full_disk_is_told_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def execute(self, *_: Any) -> None: ...

        def executemany(self, *_: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    spool = RowSpool()
    monkeypatch.setattr(spool, "_base", Full())
    with pytest.raises(LakeError, match=r"disk is full.*TMPDIR"):
        spool.write("insert into t1 values (?)", [(pack(1),)])


def test_a_row_whose_id_does_not_match_is_refused_at_its_first_reading() -> None:
    """Later readings of a row do not hash its content again."""
    spool, good = RowSpool(), make_test(1, 1, "a")
    (row,) = to_arrow(Test, [good], STAMP).to_pylist()
    bad = row | {"id": make_test(1, 2, "b").id}
    rows = spool.hold(Test, [[row, bad]], "environment")
    for _ in range(2):
        assert rows.get(good.id) == good
        assert [*rows.keep({good.id})] == [good]
        with pytest.raises(ValidationError, match="does not match its content"):
            rows.get(bad["id"])


def test_united_rows_are_those_of_all_parts_once() -> None:
    """Of a row that two parts have, the last one's counts."""
    dice, spool = random.Random(5), RowSpool()
    parts: list[list[Test]] = []
    for part in range(3):
        some = [make_test(0, number % 4, str(number)) for number in dice.sample(range(30), 12)]
        parts.append([one.model_copy(update={"name": f"part {part}"}) for one in some])
    stored = [
        spool.hold(Test, [to_arrow(Test, rows, STAMP).to_pylist()], "environment") for rows in parts
    ]
    plain = {one.id: one for rows in parts for one in rows}
    ordered = [plain[name] for name in sorted(plain)]
    united = unite(stored)
    assert isinstance(united, StoredRows)
    assert len(plain) < sum(map(len, parts))
    assert ([*united], len(united), [*united.ids]) == (ordered, len(plain), sorted(plain))
    assert (united[0], united[-1], [*united[1:4]]) == (ordered[0], ordered[-1], ordered[1:4])
    assert united.owners() == {one.id: one.environment for one in ordered}
    for owner in {one.environment for one in ordered}:
        assert [*united.of(owner)] == [one for one in ordered if one.environment == owner]
    some = {*dice.sample(united.ids, 5)}
    assert [*united.keep(some)] == [one for one in ordered if one.id in some]
    assert [*united.where(lambda one: one.id in some)] == [one for one in ordered if one.id in some]
    with pytest.raises(KeyError):
        united.get("test_0")
