"""A lake on an S3 service that refuses, fails, loses answers, stalls, and lists late."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import pytest

from envmill.base.errors import LakeError
from envmill.base.settings import ROOT
from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from schemas.seed import Seed
from tests.lake.conftest import KEYS, exit_row, make_bucket, stamp
from tests.lake.crowd import MARK, RUN, make_seed
from tests.lake.s3_faults import Faults, run_faulty
from tests.soak import count

BAD_DAY = {"refuse": 0.05, "fail": 0.05, "late": 0.05, "lose": 0.03, "trickle": 0.05}
Begin = Callable[[Faults], AbstractContextManager[str]]


@pytest.fixture
def begin(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """A bucket behind faults, which begin once it is made."""

    @contextmanager
    def run(faults: Faults) -> Iterator[str]:
        shares, lag, faults.shares, faults.lag = faults.shares, faults.lag, {}, 0.0
        with run_faulty(s3_endpoint, faults) as endpoint:
            bucket = make_bucket(endpoint, monkeypatch)
            faults.shares, faults.lag = shares, lag
            yield f"{bucket}/faults-{time.monotonic_ns()}"

    return run


@pytest.mark.long
@pytest.mark.soak(area="lake")
@pytest.mark.parametrize("seed", range(count(1, 10)))
def test_on_a_bad_day_every_batch_is_there_once(begin: Begin, seed: int) -> None:
    batches = count(12, 60)
    with begin(faults := Faults(BAD_DAY, seed=seed)) as place:

        def write(bucket: int) -> int:
            lake, published = Lake(open_store(place)), 0
            for number in range(batches // 4):
                subjects = [make_seed((bucket * 1000 + number) * 5 + at) for at in range(5)]
                attempt = lake.next_attempt(RUN, MARK.step, bucket)
                exits = [exit_row(one.id, "kept", attempt) for one in subjects]
                published += bool(lake.publish(subjects, exits, stamp(attempt, bucket)))
            return published

        with ThreadPoolExecutor(4) as pool:
            published = sum(pool.map(write, range(4)))
        lake = Lake(open_store(place))
        compact(lake, RUN, grace=0.0)
        met, faults.shares = dict(faults.met), {}
        seeds = [row.id for row in lake.read(Seed, RUN, MARK)]
    assert published == batches, "a batch that was published was said to be somebody else's"
    assert len(seeds) == len(set(seeds)) == 5 * batches
    assert len(lake.outcomes(RUN, MARK)) == 5 * batches
    assert sum(met.values()) > 10, met


@pytest.mark.long
@pytest.mark.parametrize("fault", ["refuse", "fail", "late", "lose", "trickle"])
def test_one_fault_at_each_request_of_a_put_and_a_read_is_survived(
    begin: Begin, fault: str
) -> None:
    with begin(faults := Faults()) as place:
        store = open_store(place)
        for number in range(3):
            faults.in_order = [fault]
            assert store.put_if_absent(f"t/{number}.parquet", b"x" * 1000), (
                "its own object was taken for another's"
            )
            faults.in_order = [fault]
            assert not store.put_if_absent(f"t/{number}.parquet", b"y")
            faults.in_order = [fault]
            assert store.read(f"t/{number}.parquet") == b"x" * 1000
            faults.in_order = [fault]
            assert len(store.entries("t")) == number + 1
        assert faults.met[fault] == 12


def test_an_answer_that_stalls_is_asked_for_again(begin: Begin) -> None:
    with begin(faults := Faults(silence=60.0)) as place:
        store = open_store(place)
        store.put_if_absent("t/a.parquet", b"x" * 100_000)
        faults.in_order = ["stall"]
        began = time.monotonic()
        assert store.read("t/a.parquet") == b"x" * 100_000
        assert time.monotonic() - began < 40
        assert faults.met["stall"] == 1


@pytest.mark.long
def test_a_service_that_only_refuses_is_named(begin: Begin) -> None:
    with begin(faults := Faults()) as place:
        store = open_store(place)
        faults.shares = {"fail": 1.0}
        cast(Any, store).patience = 0.0
        with pytest.raises(LakeError, match="Cannot write"):
            store.put_if_absent("t/a.parquet", b"x")
        with pytest.raises(LakeError, match="Cannot read"):
            store.read("t/a.parquet")
        with pytest.raises(LakeError, match="Cannot list"):
            store.entries("t")
        with pytest.raises(LakeError, match="Cannot delete"):
            store.delete("t/a.parquet")


def test_a_service_that_lists_late_is_refused(begin: Begin) -> None:
    """The lake knows by listing what is done: work would be done, and paid, twice."""
    with begin(Faults(lag=5.0)) as place, pytest.raises(LakeError, match="lists late"):
        open_store(place)


@pytest.mark.long
def test_a_file_in_many_parts_is_put_once(begin: Begin) -> None:
    """From 100 MB on, an object is uploaded in parts; the condition holds when they are joined."""
    large = b"0123456789" * 10_500_000
    with begin(faults := Faults()) as place:
        store = open_store(place)
        assert store.put_if_absent("t/large.parquet", large)
        assert faults.methods["POST"] >= 2, "it went in one piece"
        assert not store.put_if_absent("t/large.parquet", large[:-1] + b"x")
        assert store.read("t/large.parquet") == large


@pytest.mark.soak(area="lake")
def test_a_million_files_are_listed_in_little_memory() -> None:
    """In one folder, and in as many as a lake has: one run is found without looking at the others."""
    runs, files = count(10, 1000), count(200, 1000)
    command = [sys.executable, "-m", "tests.lake.s3_keys", str(runs), str(files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as service:
        try:
            assert service.stdout
            told = subprocess.run(
                [sys.executable, "-c", _LISTING],
                cwd=ROOT,
                env=os.environ | KEYS | {"AWS_ENDPOINT_URL": service.stdout.readline().strip()},
                capture_output=True,
                text=True,
                check=True,
                timeout=1800,
            ).stdout
        finally:
            service.kill()
    folders, one, wide, seconds, grown = map(float, told.split())
    assert (folders, one, wide) == (runs, files, runs * files)
    assert seconds < 5, "a run's files are found by its folder"
    assert grown < 100 + 0.5 * wide / 1000, f"{grown:.0f} MB"


_LISTING = """
import resource, time
from envmill.lake.stores.s3 import S3Store
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
store = S3Store("s3://envmill/lake")
store.entries("none")
before = peak()
folders = len(store.folders("attrition"))
began = time.monotonic()
one = len(store.entries("attrition/run=000003"))
seconds = time.monotonic() - began
print(folders, one, len(store.entries("wide")), seconds, peak() - before)
"""
