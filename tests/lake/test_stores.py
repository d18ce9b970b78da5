"""Stores: one writer of a name wins, what is published is whole, and a store without the primitive
is refused."""

import errno
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envmill.base.errors import LakeError, SettingsError
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store, pick_store
from envmill.lake.stores.base import read_clock
from envmill.lake.stores.local import LocalStore
from envmill.lake.stores.s3 import S3Store
from tests.lake.conftest import make_bucket, run_s3_server

PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


@PLACES
def test_of_many_writers_of_one_name_exactly_one_wins(place: str) -> None:
    store = pick_store(place)
    with ThreadPoolExecutor(16) as pool:
        won = list(
            pool.map(
                lambda number: store.put_if_absent(
                    "t/run=r/x.parquet", str(number).encode() * 10_000
                ),
                range(64),
            )
        )
    assert sum(won) == 1
    assert store.read("t/run=r/x.parquet") == str(won.index(True)).encode() * 10_000
    assert [entry.name for entry in store.entries("t/run=r")] == ["t/run=r/x.parquet"]


@PLACES
def test_a_store_lists_reads_and_deletes(place: str) -> None:
    store = open_store(place)
    assert store.entries("t/run=r") == []
    assert store.folders("t") == []
    store.put_if_absent("t/run=r/b.parquet", b"bb")
    store.put_if_absent("t/run=q/a.parquet", b"a")
    assert store.folders("t") == ["run=q", "run=r"]
    (entry,) = store.entries("t/run=r")
    assert (entry.name, entry.stem, entry.size) == ("t/run=r/b.parquet", "b", 2)
    assert abs(entry.modified - read_clock(store)) < 5
    store.put_if_absent("t/run=r/ba.parquet", b"ba")
    assert [one.stem for one in store.entries("t/run=r", "b")] == ["b", "ba"]
    assert [one.stem for one in store.entries("t/run=r", "ba")] == ["ba"]
    assert store.entries("t/run=r", "t") == []
    assert store.read("t/run=r/b.parquet") == b"bb"
    store.delete("t/run=r/b.parquet")
    store.delete("t/run=r/b.parquet")
    with pytest.raises(FileNotFoundError):
        store.read("t/run=r/b.parquet")


@PLACES
def test_the_state_of_a_folder_follows_the_names_in_it(place: str) -> None:
    store = open_store(place)
    for name in ("top/x/1", "top/y/1", "top/z/deep/1", "other/x/1"):
        store.put_if_absent(name, b"1")
    before = store.states("top")
    assert set(before) == {"x", "y", "z"}
    assert store.states("top") == before
    assert store.states("nowhere") == {}
    time.sleep(0.05)  # a disk's clock ticks
    store.put_if_absent("top/x/2", b"2")
    store.delete("top/y/1")
    after = store.states("top")
    assert after["z"] == before["z"]
    assert after["x"] != before["x"]
    assert after.get("y") != before["y"]
    fresh = store.states("top", read_clock(store) - 3600)
    assert set(fresh.values()) == {""} if "://" not in place else fresh == after


def test_a_store_whose_put_is_a_check_and_a_write_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"only if it is absent.*s3://bucket"):
        Lake("memory://lake")


def test_a_service_that_ignores_the_condition_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_s3_server("--careless") as endpoint:
        bucket = make_bucket(endpoint, monkeypatch)
        with pytest.raises(LakeError, match="honours `If-None-Match"):
            open_store(bucket)


def test_a_disk_without_hard_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(LakeError, match="no hard links"):
        open_store(tmp_path / "lake")


def test_an_answer_that_was_lost_is_not_a_lost_race(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client puts again after a lost answer, and meets its own object."""
    store = S3Store(f"{bucket}/lost")
    real = store.filesystem.pipe_file

    def put_twice(path: str, content: bytes, mode: str) -> None:
        real(path, content, mode=mode)
        real(path, content, mode=mode)

    monkeypatch.setattr(store.filesystem, "pipe_file", put_twice)
    assert store.put_if_absent("x", b"mine")
    assert not store.put_if_absent("x", b"other")


def test_a_put_that_met_another_is_tried_again(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = S3Store(f"{bucket}/conflict")
    real, answers = store.filesystem.pipe_file, [409, 409, 200]

    def put(path: str, content: bytes, mode: str) -> None:
        if answers.pop(0) == 200:
            return real(path, content, mode=mode)
        cause = Exception("conflict")
        cause.response = {"Error": {"Code": "ConditionalRequestConflict"}}  # pyright: ignore[reportAttributeAccessIssue]
        raise OSError(errno.EIO, "conflict") from cause

    monkeypatch.setattr(store.filesystem, "pipe_file", put)
    assert store.put_if_absent("x", b"mine")
    assert answers == []


def test_a_full_disk_is_an_error_that_says_so_and_leaves_nothing_half_written(
    small_disk: Path,
) -> None:
    store = LocalStore(str(small_disk))
    assert store.put_if_absent("t/run=r/small", b"x")
    with pytest.raises(LakeError, match="The disk is full: free space there, then run again"):
        store.put_if_absent("t/run=r/large", b"x" * 2_000_000)
    assert [path.name for path in (small_disk / "t/run=r").iterdir()] == ["small"]
    assert store.put_if_absent("t/run=r/large", b"y")


def test_a_disk_mounted_read_only_is_an_error_that_says_so(small_disk: Path) -> None:
    LocalStore(str(small_disk)).put_if_absent("t/run=r/x", b"x")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    store = pick_store(small_disk)
    assert store.read("t/run=r/x") == b"x"
    with pytest.raises(LakeError, match=r"mounted read-only: .*ENVMILL_LAKE"):
        open_store(small_disk)


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.EACCES, "Give this user the right to write"),
        (errno.ENOSPC, "The disk is full: free space"),
        (errno.EROFS, "mounted read-only"),
        (errno.EIO, "Mend the folder"),
    ],
)
def test_an_error_of_the_disk_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, mend: str
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(LakeError, match=mend):
        LocalStore(str(tmp_path)).put_if_absent("x", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("in the way")
    with pytest.raises(LakeError, match="A file stands where a folder should be"):
        LocalStore(str(tmp_path)).put_if_absent("t/x.parquet", b"x")
