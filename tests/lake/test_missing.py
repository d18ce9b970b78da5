"""A file that somebody deleted by hand is named, whatever is asked: a partial result is never
silent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from schemas.ledger import Attrition, Evidence
from schemas.seed import Seed
from tests.lake.views.test_shell import ask_shell

Batch = Callable[[Lake, int], None]
PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)
EVIDENCE = Evidence(gate="W1", subject="a", finding={})


@pytest.fixture
def publish(
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Batch:
    """One batch with rows for two tables."""

    def publish(lake: Lake, number: int) -> None:
        lake.store.put_if_absent("_runs/r1.json", b"{}")
        assert lake.publish(
            [make_seed(number), EVIDENCE],
            [make_exit(f"s{number}", "kept", 1)],
            make_stamp(bucket=number),
        )

    return publish


@PLACES
def test_a_content_file_that_was_deleted_is_named(place: str, publish: Batch) -> None:
    lake = Lake(place)
    for number in range(3):
        publish(lake, number)
    lake.store.delete("seeds/run=r1/environments-generate-01-ffffffff-a1.parquet")
    with pytest.raises(
        LakeError,
        match=r"seeds/run=r1/environments-generate-01-ffffffff-a1.parquet counts and is gone",
    ):
        lake.read(Seed, "r1")
    with pytest.raises(
        LakeError,
        match=r"seeds/run=r1/environments-generate-01-ffffffff-a1.parquet counts and is gone",
    ):
        fetch(lake, "select count(*) from seeds")
    assert len(lake.read(Evidence, "r1")) == 1  # other tables are whole


def test_the_way_out_is_told_and_works(lake: Lake, publish: Batch) -> None:
    publish(lake, 0)
    Path(lake.files("seeds", "r1")[0]).unlink()
    (commit,) = lake.files("attrition", "r1")
    with pytest.raises(
        LakeError,
        match=rf"Restore it from a copy, or delete attrition/run=r1/{Path(commit).name} .its batch "
        r"is then made again.: rows",
    ):
        lake.read(Seed, "r1")
    Path(commit).unlink()
    assert lake.read(Seed, "r1") == []
    assert lake.next_attempt("r1", "environments-generate", 0) == 2


@pytest.mark.parametrize("whole_folder", [False, True])
def test_it_is_still_missed_after_what_committed_it_was_merged(lake: Lake, publish: Batch, make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp], whole_folder: bool) -> None:  # fmt: skip
    """A table with one file is not merged, attrition is."""
    publish(lake, 0)
    lake.publish([], [make_exit("a", "kept", 1)], make_stamp(bucket=1))
    compact(lake, "r1")
    (seeds,) = lake.files("seeds", "r1")
    Path(seeds).unlink()
    if whole_folder:
        Path(seeds).parent.rmdir()
        Path(seeds).parent.parent.rmdir()
    with pytest.raises(
        LakeError,
        match=r"ffffffff-a1.parquet counts and is gone. Restore it from a copy: rows of run r1",
    ):
        Lake(lake.url).read(Seed, "r1")


def test_the_shell_names_it_too(lake: Lake, publish: Batch) -> None:
    publish(lake, 0)
    publish(lake, 1)
    assert len(ask_shell(Path(lake.url))["seeds"]) == 2
    Path(lake.files("seeds", "r1")[1]).unlink()
    with pytest.raises(
        AssertionError, match=r"seeds/run=r1/environments-generate-01-ffffffff-a1.parquet"
    ):
        ask_shell(Path(lake.url))


def test_a_compaction_does_not_go_on_without_it(lake: Lake, publish: Batch) -> None:
    for number in range(3):
        publish(lake, number)
    Path(lake.files("seeds", "r1")[1]).unlink()
    with pytest.raises(LakeError, match="counts and is gone"):
        compact(lake, "r1")
    assert lake.snapshot("r1").merges == 0


def test_a_lake_from_before_commits_named_their_tables_is_read(lake: Lake, publish: Batch) -> None:
    for number in range(2):
        publish(lake, number)
    for path in [Path(file) for file in lake.files("attrition", "r1")]:
        path.rename(path.with_name(f"{path.name.partition('-a1')[0]}-a1.parquet"))
    assert (len(lake.read(Seed, "r1")), len(lake.read(Attrition, "r1"))) == (2, 2)
    compact(lake, "r1")
    assert (len(lake.read(Seed, "r1")), len(lake.read(Attrition, "r1"))) == (2, 2)
