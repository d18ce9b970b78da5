"""Compaction: the same rows in fewer files, whoever is killed, late or at it too."""

import os
import time
from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from envmill.base.errors import LakeError
from envmill.lake import compaction, merging
from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.merges import record_name
from envmill.lake.stores.base import StoredFile
from schemas.ledger import Attrition, Evidence
from schemas.seed import Seed
from tests.soak import count

MARK = Fingerprint("environments-generate", "f" * 20)
Make = Callable[..., Attrition]
PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


@pytest.fixture
def fill(
    make_seed: Callable[[int], Seed], make_exit: Make, make_stamp: Callable[..., Stamp]
) -> Callable[..., None]:
    """Publish one batch with one seed."""

    def publish(lake: Lake, number: int, attempt: int = 1, outcome: str = "kept") -> None:
        stamp = make_stamp(attempt, bucket=number)
        assert lake.publish(
            [make_seed(number)], [make_exit(f"s{number}", outcome, attempt, 1.0)], stamp
        )

    return publish


Fill = Callable[..., None]


def _rows(lake: Lake) -> tuple[list[str], dict[str, str], int]:
    return (
        [seed.id for seed in lake.read(Seed, "r1")],
        dict(lake.outcomes("r1", MARK)),
        len(lake.read(Attrition, "r1")),
    )


@pytest.mark.long(cases=1)
@PLACES
def test_the_same_rows_in_fewer_files(place: str, fill: Fill) -> None:
    lake = Lake(place)
    for number in range(5):
        fill(lake, number)
    fill(lake, 0, attempt=2)
    before = _rows(lake)
    done = compact(lake, "r1")
    assert (done.replaced, done.added, done.deleted) == (12, 2, 0)
    assert [len(lake.files(table, "r1")) for table in ("seeds", "attrition")] == [1, 1]
    assert _rows(lake) == _rows(Lake(place)) == before
    fill(lake, 6)
    assert len(_rows(lake)[0]) == len(before[0]) + 1
    compact(lake, "r1")
    assert len(lake.files("seeds", "r1")) == 1
    assert len(_rows(lake)[0]) == len(before[0]) + 1


def test_superseded_rows_go_and_every_cost_stays(lake: Lake, fill: Fill) -> None:
    for attempt in (1, 2, 3):
        fill(lake, 0, attempt, "error" if attempt < 3 else "kept")
    compact(lake, "r1")
    (merged,) = lake.files("seeds", "r1")
    assert [row["try_number"] for row in _read(merged)] == [3]
    assert sum(row.cost or 0 for row in lake.read(Attrition, "r1")) == 3.0
    assert lake.outcomes("r1", MARK) == {"s0": "kept"}


def test_a_row_made_under_two_fingerprints_stays_under_both(
    lake: Lake, make_seed: Callable[[int], Seed], make_exit: Make, make_stamp: Callable[..., Stamp]
) -> None:
    lake.publish([make_seed(1)], [make_exit("a", "kept", 1)], make_stamp(1))
    lake.publish([make_seed(1)], [make_exit("a", "kept", 2)], make_stamp(2, fingerprint="e" * 20))
    compact(lake, "r1")
    assert (
        lake.read(Seed, "r1", MARK)
        == lake.read(Seed, "r1", Fingerprint(MARK.step, "e" * 20))
        == [make_seed(1)]
    )


def test_a_table_with_one_file_still_counts_when_what_committed_it_was_merged_and_went(
    lake: Lake, fill: Fill, make_exit: Make, make_stamp: Callable[..., Stamp]
) -> None:
    evidence = Evidence(gate="W1", subject="a", finding={})
    lake.publish([evidence], [make_exit("a", "kept", 1)], make_stamp(bucket=5))
    fill(lake, 0)
    compact(lake, "r1")
    compact(lake, "r1", now=time.time() + 9999)
    assert Lake(lake.url).read(Evidence, "r1") == [evidence]


def test_replaced_files_stay_for_the_grace_period_and_then_go(lake: Lake, fill: Fill) -> None:
    for number in range(3):
        fill(lake, number)
    listed = lake.files("seeds", "r1")
    compact(lake, "r1")
    assert compact(lake, "r1").deleted == 0
    assert all(Path(file).exists() for file in listed)
    done = compact(lake, "r1", now=time.time() + 3601)
    assert done.deleted == 6
    assert not any(Path(file).exists() for file in listed)
    assert len(_rows(lake)[0]) == 3


def test_no_grace_takes_nothing_from_a_writer_that_is_about_to_publish(
    lake: Lake, fill: Fill
) -> None:
    fill(lake, 0)
    half = Path(lake.url) / "seeds/run=r1/.part-0"
    half.write_bytes(b"half")
    compact(lake, "r1", grace=-60)
    assert half.exists()
    compact(lake, "r1", now=time.time() + 3700)
    assert not half.exists()


def test_a_clock_that_goes_backwards_deletes_nothing(lake: Lake, fill: Fill) -> None:
    for number in range(3):
        fill(lake, number)
    listed = lake.files("seeds", "r1")
    compact(lake, "r1")
    assert compact(lake, "r1", now=time.time() - 10 * 3600).deleted == 0
    os.utime(lake.store.locate(record_name("r1", 1)), (time.time() + 9999, time.time() + 9999))
    assert compact(Lake(lake.url), "r1", grace=0).deleted == 0
    assert all(Path(file).exists() for file in listed)


def test_an_attempt_number_is_not_used_again_after_its_files_went(lake: Lake, fill: Fill) -> None:
    fill(lake, 0)
    fill(lake, 1)
    compact(lake, "r1")
    compact(lake, "r1", now=time.time() + 9999)
    for claim in lake.store.entries("_claims/run=r1"):
        lake.store.delete(claim.name)  # a lake written before claims
    assert lake.next_attempt("r1", MARK.step, 0) == 2


def test_of_two_that_compact_at_once_one_looks_again(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        fill(lake, number)
    real, others = compaction.merge_files, [True]

    def merge(*arguments: object) -> frozenset[str]:
        made = real(*arguments)  # pyright: ignore[reportArgumentType]
        if others and others.pop():
            monkeypatch.setattr(compaction, "merge_files", real)
            compact(Lake(lake.url), "r1")
            fill(lake, 9)
        return made

    monkeypatch.setattr(compaction, "merge_files", merge)
    done = compact(lake, "r1")
    assert lake.snapshot("r1").merges == 2  # the other's, then ours of what came since
    assert done.replaced == 4
    assert len(_rows(lake)[0]) == 4
    named = {entry.name for entry in lake.snapshot("r1").files["seeds"]}
    lost = {
        entry.name for entry in lake.store.entries("seeds/run=r1") if "merged" in entry.name
    } - named
    assert len(lost) == 1  # replaced by ours and still in its grace; what lost is gone


@pytest.mark.long
@pytest.mark.soak(area="lake")
def test_killed_anywhere_it_leaves_the_same_rows(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        fill(lake, number)
    fill(lake, 0, attempt=2)
    note(lake, "r1", "finished", {})
    before, operations = _rows(lake), 0
    for allowed in range(0, 1000, count(4, 1)):
        with monkeypatch.context() as patch:
            left = [allowed]

            def strike(real: Callable[..., object], left: list[int]) -> Callable[..., object]:
                def operate(*arguments: object) -> object:
                    left[0] -= 1
                    if left[0] < 0:
                        raise KeyboardInterrupt
                    return real(*arguments)

                return operate

            for name in ("put_if_absent", "delete"):
                patch.setattr(lake.store, name, strike(getattr(lake.store, name), left))
            try:
                compact(lake, "r1", now=time.time() + 9999)
            except KeyboardInterrupt:
                operations += 1
            else:
                break
            finally:
                patch.undo()
        assert _rows(lake) == _rows(Lake(lake.url)) == before
        fill(lake, 10 + allowed)
        before = _rows(lake)
    assert operations >= count(3, 12)
    compact(lake, "r1", now=time.time() + 9999)
    compact(lake, "r1", now=time.time() + 9999)
    assert _rows(lake) == before
    assert [len(lake.store.entries(f"{table}/run=r1")) for table in ("seeds", "attrition")] == [
        1,
        1,
    ]


def test_a_missing_or_damaged_record_is_named(lake: Lake, fill: Fill) -> None:
    for number in range(6):
        fill(lake, number)
        compact(lake, "r1")
    Path(lake.store.locate(record_name("r1", 2))).unlink()
    with pytest.raises(LakeError, match=r"000002.json is missing"):
        Lake(lake.url).read(Seed, "r1")
    Path(lake.store.locate(record_name("r1", 2))).write_bytes(b"{")
    with pytest.raises(LakeError, match=r"000002.json is damaged"):
        Lake(lake.url).read(Seed, "r1")


def test_a_merged_file_that_is_gone_is_named(lake: Lake, fill: Fill) -> None:
    fill(lake, 0)
    fill(lake, 1)
    compact(lake, "r1")
    (merged,) = lake.files("seeds", "r1")
    Path(merged).unlink()
    with pytest.raises(LakeError, match=f"{Path(merged).name} counts and is gone"):
        lake.read(Seed, "r1")


@pytest.mark.parametrize("times", [1, 6])
@pytest.mark.parametrize(
    "ask", [lambda lake: lake.read(Seed, "r1"), lambda lake: lake.outcomes("r1", MARK)]
)
def test_a_replaced_file_that_went_early_is_looked_for_again(
    times: int,
    ask: Callable[[Lake], Sized],
    lake: Lake,
    fill: Fill,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between listing and reading, another process writes and compacts without grace, several times
    in a row."""
    fill(lake, 0)
    real, numbers = lake._entries, list(range(times, 0, -1))

    def list_then_compact(*arguments: Any) -> list[StoredFile]:
        entries = real(*arguments)
        if numbers:
            fill(Lake(lake.url), numbers.pop())
            compact(Lake(lake.url), "r1", now=time.time() + 9999)
            assert not any(Path(lake.store.locate(entry.name)).exists() for entry in entries)
        return entries

    monkeypatch.setattr(lake, "_entries", list_then_compact)
    assert len(ask(lake)) == times + 1
    assert not numbers


def test_a_compaction_between_two_listings_is_noticed(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records were read, then everything they know of is merged and removed."""
    for number in range(3):
        fill(lake, number)
    real, times = lake.store.entries, [1]

    def compact_then_list(folder: str, *start: str) -> object:
        if folder.startswith("attrition") and times and times.pop():
            compact(Lake(lake.url), "r1", now=time.time() + 9999)
        return real(folder, *start)

    monkeypatch.setattr(lake.store, "entries", compact_then_list)
    assert len(lake.read(Seed, "r1")) == 3


def test_a_folder_too_large_for_one_listing_is_read_while_it_grows(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 0)
    real, number = lake.store.entries, [0]

    def grow_then_list(folder: str, *start: str) -> object:
        if folder.startswith("attrition"):
            number[0] += 1
            fill(lake, number[0])
        return real(folder, *start)

    monkeypatch.setattr(lake.store, "whole_listing", 0)
    monkeypatch.setattr(lake.store, "entries", grow_then_list)
    assert len(lake.read(Seed, "r1")) == number[0] + 1


def test_a_large_table_becomes_several_files_and_full_ones_are_left_alone(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        fill(lake, number)
    before = _rows(lake)
    for module in (merging, compaction):
        monkeypatch.setattr(module, "FULL", 1000)
    monkeypatch.setattr(merging, "_LOT", 1)
    monkeypatch.setattr(merging, "_GROUP_ROWS", 1)
    monkeypatch.setattr(compaction, "FULL", 10_000)
    compact(lake, "r1")
    assert len(lake.files("seeds", "r1")) > 1
    assert _rows(lake) == before
    monkeypatch.setattr(compaction, "FULL", 10)
    assert compact(lake, "r1").replaced == 0


@pytest.mark.parametrize("bound", ["_GROUP_ROWS", "_GROUP_BYTES", ""])
def test_rows_are_written_as_they_are_read_and_not_all_at_once(
    lake: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Six files are read one by one; a group is written as soon as it is full."""
    for number in range(6):
        fill(lake, number)
    before = _rows(lake)
    monkeypatch.setattr(merging, "_LOT", 1)
    if bound:
        monkeypatch.setattr(merging, bound, 1)
    compact(lake, "r1")
    assert _rows(lake) == before
    (merged,) = lake.files("seeds", "r1")
    assert pq.ParquetFile(merged).num_row_groups == (6 if bound else 1)


def _read(file: str) -> list[dict[str, object]]:
    return pq.read_table(file).to_pylist()
