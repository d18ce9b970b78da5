"""The lake: immutable, committed by the attrition file, the latest attempt counts."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.errors import LakeError
from envmill.lake.arrow import Stamp, arrow_schema, from_arrow, to_arrow
from envmill.lake.files import BatchName, put_if_absent, sweep_parts
from envmill.lake.lake import Lake, Mark
from schemas.ledger import Attrition
from schemas.seed import Seed

MARK = Mark("environments-generate", "f" * 20)
Make = Callable[..., Attrition]


def test_rows_come_back_as_they_went(make_seed: Callable[[int], Seed], make_stamp: Callable[..., Stamp]) -> None:
    seeds = [make_seed(number) for number in range(3)]
    table = to_arrow(Seed, seeds, make_stamp())
    assert table.schema.equals(arrow_schema(Seed))
    assert from_arrow(Seed, table.to_pylist()) == seeds


def test_a_batch_without_its_attrition_file_is_invisible(
    lake: Lake, make_seed: Callable[[int], Seed], make_exit: Make, make_stamp: Callable[..., Stamp]
) -> None:
    lake.put(Seed, [make_seed(1)], BatchName(MARK.step, 0, MARK.fp8, 1).stem, make_stamp())
    assert lake.read(Seed, "r1") == []
    assert lake.next_attempt("r1", MARK.step, 0) == 2  # what a killed writer left is never written over
    assert lake.publish([make_seed(1)], [make_exit("a", "kept", 2)], make_stamp(2))
    assert lake.read(Seed, "r1", MARK) == [make_seed(1)]


def test_the_latest_attempt_decides_and_other_fingerprints_are_not_ours(
    lake: Lake, make_exit: Make, make_stamp: Callable[..., Stamp]
) -> None:
    lake.publish([], [make_exit("a", "error", 1), make_exit("b", "kept", 1)], make_stamp(1))
    lake.publish([], [make_exit("a", "kept", 2)], make_stamp(2))
    lake.publish([], [make_exit("c", "kept", 3)], make_stamp(3, fingerprint="e" * 20))
    assert lake.outcomes("r1", MARK) == {"a": "kept", "b": "kept"}


def test_of_many_writers_of_one_name_exactly_one_wins(tmp_path: Path) -> None:
    target = tmp_path / "t" / "run=r" / "x.parquet"
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda number: put_if_absent(target, str(number).encode() * 10_000), range(64)))
    assert sum(won) == 1
    assert target.read_bytes() == str(won.index(True)).encode() * 10_000
    assert [entry.name for entry in target.parent.iterdir()] == ["x.parquet"]


def test_a_drifted_file_and_a_torn_file_are_named(lake: Lake, make_exit: Make, make_stamp: Callable[..., Stamp]) -> None:
    lake.publish([], [make_exit("a", "kept", 1)], make_stamp())
    (file,) = lake.files("attrition", "r1")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LakeError, match=file.name):
        lake.outcomes("r1", MARK)
    pq.write_table(pa.table({"id": [1]}), file)
    with pytest.raises(LakeError, match="another shape"):
        lake.outcomes("r1", MARK)


def test_a_decision_is_made_once(lake: Lake) -> None:
    assert lake.fix("r1", "plan", {"buckets": 3}) == {"buckets": 3}
    assert lake.fix("r1", "plan", {"buckets": 9}) == {"buckets": 3}


def test_a_full_or_forbidden_disk_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("in the way")
    with pytest.raises((LakeError, NotADirectoryError, FileExistsError)):
        put_if_absent(tmp_path / "t" / "x.parquet", b"x")


_WRITER = """
import sys
from pathlib import Path
from envmill.lake.files import put_if_absent
number = 0
print("ready", flush=True)
while True:
    put_if_absent(Path(sys.argv[1]) / "t" / "run=r" / f"{number}.parquet", b"x" * 200_000)
    number += 1
"""


def test_killed_writers_leave_whole_files_and_only_sweepable_litter(tmp_path: Path) -> None:
    for delay in (0.01, 0.02, 0.03):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        files = list((tmp_path / "t" / "run=r").glob("*.parquet"))
        assert files, "the writer must have been at work"
        assert all(file.stat().st_size == 200_000 for file in files)
    sweep_parts(tmp_path, time.time() + 1)
    assert not list(tmp_path.rglob(".part-*"))
