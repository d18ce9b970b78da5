"""The lake under kill -9, races, and a crowd of writers, readers and compaction: whole batches
only, none lost, none twice."""

import contextlib
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from schemas.ledger import Attrition
from schemas.seed import Seed
from tests.lake.crowd import BATCH, MARK, RUN
from tests.soak import count

PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


@contextlib.contextmanager
def _start(*crowd: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that begin together, once all of them are up."""
    command, pipe = [sys.executable, "-m", "tests.lake.crowd"], subprocess.PIPE
    processes = [
        subprocess.Popen([*command, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for arguments in crowd
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _wait_for_merge(lake: Lake) -> None:
    """Until compaction has replaced something, which takes a busy machine its time."""
    until = time.monotonic() + 120
    while not lake.store.entries(f"_compact/run={RUN}") and time.monotonic() < until:
        time.sleep(0.5)


def _wait_for_words(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Until each has said something, or has ended."""
    for process in processes:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 300)[0], "it says nothing"


def _finish(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    """What a process said until it was killed, and what it died of."""
    died = process.poll()
    process.kill()
    said, errors = process.communicate()
    return said.split("\n")[:-1], errors if died is not None and died != 0 else ""


@pytest.mark.long
@pytest.mark.soak(area="lake")
def test_killed_writers_lose_nothing_they_published_and_litter_no_view(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lake, published, dice = Lake(tmp_path / "lake"), 0, random.Random(request.node.name)
    for _ in range(count(8, 200)):
        with _start(["writer", lake.url, "0"]) as (writer,):
            time.sleep(dice.uniform(0, 0.15))
            said, errors = _finish(writer)
            assert errors == ""
        published += len(said)
        counted = len(lake.outcomes(RUN, MARK)) // BATCH
        assert counted - published in (
            0,
            1,
        )  # a batch may be there whose writer had no time to say so
        published = counted
        assert len(lake.read(Seed, RUN)) == len(lake.read(Attrition, RUN)) == published * BATCH
    assert published > 0, "writers must have been at work"
    assert len(lake.store.entries(f"_claims/run={RUN}")) > published, (
        "kills must have struck inside a batch"
    )
    with _start(["writer", lake.url, "0", "3"]) as (writer,):
        assert writer.communicate(timeout=60)[0].split() == ["1", "2", "3", "done"]
    assert len(lake.read(Seed, RUN)) == (published + 3) * BATCH
    lake.store.put_if_absent(f"_runs/{RUN}.json", b"{}")
    everything = [
        ("seeds", (published + 3) * BATCH),
        ("exits", (published + 3) * BATCH),
        ("gate_evidence", 0),
    ]
    assert [
        (name, fetch(lake, f"select count(*) from {name}")[0][0]) for name, _ in everything
    ] == everything
    compact(lake, RUN, now=time.time() + 9999)
    assert [
        (name, fetch(lake, f"select count(*) from {name}")[0][0]) for name, _ in everything
    ] == everything
    assert len(lake.read(Seed, RUN)) == (published + 3) * BATCH
    assert not list((tmp_path / "lake").rglob(".part-*"))


@pytest.mark.long
@pytest.mark.soak(area="lake")
@PLACES
def test_two_processes_race_for_one_bucket(place: str) -> None:
    batches = count(15, 200)
    with _start(*[["writer", place, "0", str(batches)]] * 2) as racing:
        said = [process.communicate(timeout=600)[0].split() for process in racing]
    won = sum(len(lines) - 1 for lines in said)
    assert all(lines[-1] == "done" for lines in said)
    lake = Lake(place)
    assert (
        len(lake.read(Seed, RUN))
        == len(lake.outcomes(RUN, MARK))
        == len(lake.read(Attrition, RUN))
        == won * BATCH
    )


@pytest.mark.long
@pytest.mark.soak(area="lake")
@pytest.mark.parametrize(
    ("place", "grace"), [("file", "3600"), ("file", "0"), ("s3", "0")], indirect=["place"]
)
def test_every_count_a_reader_sees_was_true_at_some_moment(place: str, grace: str) -> None:
    """Counts only grow, seeds lie between the exits counted before and after them, and batches are
    whole."""
    remote = (
        "://" in place
    )  # the service on loopback answers some hundred requests a second, all processes together
    writers, readers = count(2 if remote else 3, 8), count(1 if remote else 2, 4)
    writing, reading = (
        [["writer", place, str(bucket)] for bucket in range(writers)],
        [["reader", place]] * readers,
    )
    with _start(["compactor", place, grace], *writing, *reading) as crowd:
        time.sleep(count(8, 180) if remote else count(3, 60))
        _wait_for_merge(Lake(place))
        _wait_for_words(crowd)
        squeezed, *rest = [_finish(process) for process in crowd]
    wrote, saw = rest[:writers], rest[writers:]
    assert [errors for _, errors in (squeezed, *rest) if errors] == []
    assert [line for lines, _ in saw for line in lines if not line.endswith("fine")] == []
    assert all(lines for lines, _ in saw), "readers must have been at work"
    assert Lake(place).store.entries(f"_compact/run={RUN}"), "compaction must have been at work"
    lake, published = Lake(place), sum(len(lines) for lines, _ in wrote)
    assert published * BATCH <= len(lake.read(Seed, RUN)) <= (published + writers) * BATCH
    assert (
        len(lake.read(Seed, RUN)) == len(lake.outcomes(RUN, MARK)) == len(lake.read(Attrition, RUN))
    )
