"""The lake: immutable, committed by the attrition file, the latest attempt counts."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp, arrow_schema, from_arrow, to_arrow
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.stores.base import StoredFile
from schemas.ledger import Attrition, Evidence
from schemas.seed import Seed

MARK = Fingerprint("environments-generate", "f" * 20)
Make = Callable[..., Attrition]
MakeSeed = Callable[[int], Seed]
MakeStamp = Callable[..., Stamp]
PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


def test_rows_come_back_as_they_went(make_seed: MakeSeed, make_stamp: MakeStamp) -> None:
    seeds = [make_seed(number) for number in range(3)]
    table = to_arrow(Seed, seeds, make_stamp())
    assert table.schema.equals(arrow_schema(Seed))
    assert from_arrow(Seed, table.to_pylist()) == seeds
    assert to_arrow(Seed, [], make_stamp()).schema.equals(arrow_schema(Seed))


@PLACES
def test_a_batch_without_its_attrition_file_is_invisible(
    place: str,
    make_seed: MakeSeed,
    make_exit: Make,
    make_stamp: MakeStamp,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = Lake(place)
    publish_all_but_the_commit(lake, make_seed(1), make_stamp(), monkeypatch)
    assert lake.read(Seed, "r1") == []
    assert lake.outcomes("r1", MARK) == {}
    assert (
        lake.next_attempt("r1", MARK.step, 0) == 2
    )  # what a killed writer left is never written over
    assert lake.publish([make_seed(1)], [make_exit("a", "kept", 2)], make_stamp(2))
    assert lake.outcomes("r1", MARK) == {"a": "kept"}
    assert lake.read(Seed, "r1", MARK) == [make_seed(1)]


def test_files_of_two_writers_of_one_attempt_are_never_committed_together(
    lake: Lake, make_seed: MakeSeed, make_exit: Make, make_stamp: MakeStamp
) -> None:
    assert lake.publish([], [make_exit("a", "kept", 1)], make_stamp())
    assert not lake.publish([make_seed(1)], [make_exit("a", "kept", 1)], make_stamp())
    assert lake.read(Seed, "r1") == []


def test_the_latest_attempt_decides_and_other_fingerprints_are_not_ours(
    lake: Lake, make_exit: Make, make_stamp: MakeStamp
) -> None:
    lake.publish([], [make_exit("a", "error", 1), make_exit("b", "kept", 1)], make_stamp(1))
    lake.publish([], [make_exit("a", "kept", 2)], make_stamp(2))
    lake.publish([], [make_exit("c", "kept", 3)], make_stamp(3, fingerprint="e" * 20))
    assert lake.outcomes("r1", MARK) == {"a": "kept", "b": "kept"}


def test_a_bucket_is_followed_by_its_own_files(
    lake: Lake, make_exit: Make, make_stamp: MakeStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a million subjects has tens of thousands of files a step: who saves one lists none of the others."""
    lake.publish([], [make_exit("a", "error", 1)], make_stamp(1))
    lake.publish([], [make_exit("a", "kept", 2)], make_stamp(2))
    lake.publish([], [make_exit("b", "kept", 1)], replace(make_stamp(1), bucket=11))
    listed, real = list[str](), lake.store.entries

    def note_listed(folder: str, start: str = "") -> list[StoredFile]:
        found = real(folder, start)
        listed.extend(entry.stem for entry in found if folder.startswith("attrition"))
        return found

    monkeypatch.setattr(lake.store, "entries", note_listed)
    is_settled = lake.is_settled("r1", MARK, 11)
    assert (is_settled("a"), is_settled("b")) == (False, True)
    assert lake.next_attempt("r1", MARK.step, 11) == 2
    assert listed
    assert all(f"{MARK.step}-11-" in stem for stem in listed)
    assert lake.outcomes("r1", MARK) == {"a": "kept", "b": "kept"}, "a later look sees the rest"


def test_a_bucket_that_was_merged_is_settled(
    lake: Lake, make_exit: Make, make_stamp: MakeStamp
) -> None:
    lake.publish([], [make_exit("a", "kept", 1)], make_stamp(1))
    lake.publish([], [make_exit("b", "kept", 1)], replace(make_stamp(1), bucket=11))
    assert lake.is_settled("r1", MARK, 0)("a")
    compact(lake, "r1", now=time.time() + 9999, grace=0)
    compact(lake, "r1", now=time.time() + 9999, grace=0)
    lake.publish([], [make_exit("c", "kept", 2)], make_stamp(2))
    for one in (lake, Lake(lake.url)):
        is_settled = one.is_settled("r1", MARK, 0)
        assert (is_settled("a"), is_settled("c"), is_settled("d")) == (True, True, False)


def test_a_disk_that_fills_up_inside_a_batch_leaves_nothing_that_counts(
    small_disk: Path, make_exit: Make, make_stamp: MakeStamp, make_seed: MakeSeed
) -> None:
    lake, noise = Lake(small_disk / "lake"), random.Random(1)
    large = Evidence(gate="W1", subject="a", finding={"noise": noise.randbytes(1_500_000).hex()})
    with pytest.raises(LakeError, match="The disk is full: free space there, then run again"):
        lake.publish([make_seed(1), large], [make_exit("a", "kept", 1)], make_stamp())
    assert (lake.read(Seed, "r1"), lake.read(Evidence, "r1"), lake.outcomes("r1", MARK)) == (
        [],
        [],
        {},
    )
    assert lake.publish(
        [make_seed(1)],
        [make_exit("a", "kept", 2)],
        make_stamp(lake.next_attempt("r1", MARK.step, 0)),
    )
    assert (lake.read(Seed, "r1"), lake.outcomes("r1", MARK)) == ([make_seed(1)], {"a": "kept"})


@PLACES
def test_a_decision_is_made_once(place: str) -> None:
    assert Lake(place).fix("r1", "plan", {"buckets": 3}) == {"buckets": 3}
    assert Lake(place).fix("r1", "plan", {"buckets": 9}) == {"buckets": 3}


@PLACES
def test_runs_are_listed_in_the_order_they_started(place: str) -> None:
    lake = Lake(place)
    assert lake.runs() == []
    for run in ("b", "a", "b"):
        note(lake, run, "started", {})
    assert sorted(lake.runs()) == ["a", "b"]
    if "://" not in place:  # an S3 service tells whole seconds
        assert lake.runs() == ["b", "a"]


def test_a_file_that_counts_and_is_gone_is_named(
    lake: Lake, make_exit: Make, make_stamp: MakeStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.publish([], [make_exit("a", "kept", 1)], make_stamp())
    (file,) = lake._entries("attrition", "r1", None)
    monkeypatch.setattr(lake, "_entries", lambda *_: [file])
    lake.store.delete(file.name)
    with pytest.raises(LakeError, match=rf"{lake.store.locate(file.name)} counts and is gone"):
        lake.outcomes("r1", MARK)


def publish_all_but_the_commit(
    lake: Lake, seed: Seed, stamp: Stamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a writer leaves that is killed before its attrition file."""
    real = lake.put

    def put(record: type[Seed] | type[Attrition], *arguments: object) -> bool:
        if record is Attrition:
            raise KeyboardInterrupt
        return real(record, *arguments)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(lake, "put", put)
        with pytest.raises(KeyboardInterrupt):
            lake.publish([seed], [], stamp)
