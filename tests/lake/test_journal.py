"""The journal: what was returned is on disk, what was torn was never returned."""

# pyright: reportMissingTypeStubs=false

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.journal import Journal, read_calls, seal
from envmill.lake.lake import Lake
from envmill.lake.replies import StoredReplies
from schemas.ledger import ModelCall


def make_call(ordinal: str, reply: str = "{}") -> ModelCall:
    return ModelCall(
        request="q", sample=0, ordinal=ordinal, step="environments-generate", subject="s", prompt="p", prompt_hash="h", provider="offline",
        model="m", outcome="reply", reused=False, retries=0, tokens_in=1, tokens_out=2, cost=None, latency=0.1, asked_at="t", reply=reply,
    )  # fmt: skip


async def test_appends_share_commits_and_all_are_on_disk_when_they_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = 0
    real = os.fsync

    def count(handle: int) -> None:
        nonlocal syncs
        syncs += 1
        real(handle)

    monkeypatch.setattr(os, "fsync", count)
    journal = Journal(tmp_path)
    await asyncio.gather(*(journal.append(make_call(journal.next_ordinal())) for _ in range(200)))
    assert len(list(read_calls(tmp_path))) == 200
    assert 1 <= syncs < 20
    await journal.close()


async def test_a_torn_tail_is_ignored_and_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    await journal.append(make_call("1"))
    await journal.append(make_call("2"))
    await journal.close()
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-10])
    assert [call.ordinal for call in read_calls(tmp_path)] == ["1"]
    journal.path.write_bytes(b"{broken}\n" + whole)
    with pytest.raises(LakeError, match="line 1 is damaged"):
        list(read_calls(tmp_path))


async def test_sealing_spares_the_living_and_loses_nothing(
    tmp_path: Path, lake: Lake, make_stamp: Callable[..., Stamp]
) -> None:
    living, ended = Journal(tmp_path / "j"), Journal(tmp_path / "j")
    await living.append(make_call("1"))
    await ended.append(make_call("2"))
    await ended.close()
    assert seal(tmp_path / "j", lake, make_stamp()) == 1
    assert [call.ordinal for call in lake.read(ModelCall, "r1")] == ["2"]
    assert [call.ordinal for call in read_calls(tmp_path / "j")] == ["1"]
    await living.close()
    assert seal(tmp_path / "j", lake, make_stamp()) == 1
    assert len(lake.read(ModelCall, "r1")) == 2


async def test_a_large_journal_is_sealed_into_several_files(
    tmp_path: Path, lake: Lake, make_stamp: Callable[..., Stamp], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealing that was killed between two of them makes the same files again."""
    monkeypatch.setattr("envmill.lake.journal._MOST_CHARACTERS", 250)
    journal = Journal(tmp_path / "j")
    for number in range(7):
        await journal.append(make_call(str(number), "x" * 100))
    await journal.close()
    kept = journal.path.read_bytes()
    assert seal(tmp_path / "j", lake, make_stamp()) == 7
    names = lake.files("model_calls", "r1")
    assert len(names) == 3
    journal.path.write_bytes(kept)
    assert seal(tmp_path / "j", lake, make_stamp()) == 7
    assert lake.files("model_calls", "r1") == names
    assert sorted(call.ordinal for call in lake.read(ModelCall, "r1")) == [*map(str, range(7))]


def test_stored_replies_are_a_mapping() -> None:
    calls = {(str(number), number % 3): make_call(str(number)) for number in range(10)}
    stored = StoredReplies()
    stored.update(calls)
    assert dict(stored) == calls
    assert ("3", 0) in stored
    assert ("3", 1) not in stored
    assert stored.get(("3", 1)) is None
    del stored["3", 0]
    assert len(stored) == 9


async def test_replies_are_stored_from_several_threads() -> None:
    stored = StoredReplies()

    def store(first: int) -> None:
        for number in range(first, first + 100):
            stored[str(number), 0] = make_call(str(number))
            assert stored[str(number), 0].ordinal == str(number)

    await asyncio.gather(*(asyncio.to_thread(store, first) for first in range(0, 800, 100)))
    assert len(stored) == 800


_KILLED = """
import asyncio, sys
from pathlib import Path
from envmill.lake.journal import Journal
from tests.lake.test_journal import make_call

async def main():
    journal = Journal(Path(sys.argv[1]))
    for number in range(10_000):
        await journal.append(make_call(str(number), "x" * 3000))
        print(number, flush=True)

asyncio.run(main())
"""


def test_after_kill_everything_returned_is_there(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    last = -1
    while last < 25:
        last = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    returned = max([last, *map(int, writer.stdout.read().split())])
    writer.wait()
    writer.stdout.close()
    assert {int(call.ordinal) for call in read_calls(tmp_path)} >= set(range(returned + 1))


async def test_a_closed_journal_writes_into_nobody_elses_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    await journal.close()
    victim = os.open(
        tmp_path / "victim", os.O_WRONLY | os.O_CREAT
    )  # takes the number the journal had
    with pytest.raises(LakeError, match="closed"):
        await journal.append(make_call("1"))
    os.close(victim)
    assert (tmp_path / "victim").read_bytes() == b""


async def test_a_disk_that_is_full_fails_the_append_and_leaves_the_journal_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    await journal.append(make_call("1"))
    real = os.write

    def half_then_full(handle: int, data: bytes) -> int:
        real(handle, bytes(data)[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(LakeError, match="Free space"):
        await journal.append(make_call("2"))
    monkeypatch.setattr(os, "write", real)
    await journal.append(make_call("3"))
    await journal.close()
    assert [call.ordinal for call in read_calls(tmp_path)] == ["1", "3"]


async def test_a_full_disk_fails_the_append_and_what_was_returned_stays(small_disk: Path) -> None:
    journal = Journal(small_disk / "journal")
    await journal.append(make_call("1"))
    with pytest.raises(LakeError, match="Free space there"):
        await journal.append(make_call("2", "x" * 2_000_000))
    await journal.append(make_call("3"))
    await journal.close()
    assert [call.ordinal for call in read_calls(small_disk / "journal")] == ["1", "3"]


async def test_lines_that_could_not_be_taken_back_are_gone_before_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails the write and the truncation that should undo it."""
    journal = Journal(tmp_path)
    await journal.append(make_call("1"))

    real, failing = os.ftruncate, False

    def fail(handle: int) -> None:
        nonlocal failing
        failing = True
        raise OSError(5, "Input/output error")

    def truncate(handle: int, size: int) -> None:
        if failing:
            fail(handle)
        real(handle, size)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        patch.setattr(os, "ftruncate", truncate)
        with pytest.raises(LakeError):
            await journal.append(make_call("2"))
    await journal.append(make_call("3"))
    await journal.close()
    assert [call.ordinal for call in read_calls(tmp_path)] == ["1", "3"]


def test_a_folder_that_cannot_be_written_is_named(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(LakeError, match=r"No journal can be opened in .*ENVMILL_HOME"):
        Journal(small_disk / "journal")


async def test_sealing_never_takes_a_journal_that_is_being_opened(
    tmp_path: Path, lake: Lake, make_stamp: Callable[..., Stamp], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process seals between the creation of the file and its lock."""
    import fcntl

    real = fcntl.flock

    def seal_then_lock(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        seal(tmp_path, lake, make_stamp())
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", seal_then_lock)
    journal = Journal(tmp_path)
    await journal.append(make_call("1"))
    assert [call.ordinal for call in read_calls(tmp_path)] == ["1"]
    await journal.close()


async def test_sealing_again_after_a_kill_adds_no_row_even_when_the_first_was_merged(
    tmp_path: Path, lake: Lake, make_stamp: Callable[..., Stamp]
) -> None:
    for ordinal in ("1", "2"):
        journal = Journal(tmp_path / "j")
        await journal.append(make_call(ordinal))
        await journal.close()
    kept = {path: path.read_bytes() for path in (tmp_path / "j").iterdir()}
    assert seal(tmp_path / "j", lake, make_stamp()) == 2
    compact(lake, "r1", now=time.time() + 9999)
    compact(lake, "r1", now=time.time() + 9999)
    for path, content in kept.items():  # the kill came before the journal was removed
        path.write_bytes(content)
    seal(tmp_path / "j", lake, make_stamp())
    assert sorted(call.ordinal for call in lake.read(ModelCall, "r1")) == ["1", "2"]
    assert sum(len(pq.read_table(file)) for file in lake.files("model_calls", "r1")) == 2
