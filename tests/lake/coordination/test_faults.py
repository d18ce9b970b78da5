"""What goes wrong between the processes of a run: survived, or told with what to do."""

import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import CoordinationError, EnvMillError, LakeError, SettingsError
from envmill.base.settings import Settings
from envmill.lake.coordination import (
    Document,
    FolderCoordinator,
    ObjectDocuments,
    PostgresDocuments,
    RemoteCoordinator,
)
from envmill.lake.coordination.remote import Unreachable
from envmill.lake.identity import check_identity
from envmill.lake.lake import Lake
from envmill.lake.stores import LocalStore, S3Store
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.terms import agree_on_budget
from envmill.pipeline.coordinating import agree_on_coordinator, open_coordinator
from flows.opening import open_walk
from schemas.environment import Blueprint
from schemas.run import RunConfig
from tests.lake.coordination.test_coordinators import count_up
from tests.pipeline.test_fencing import CONFIG, GENERATE, coordinate
from tests.pipeline.test_runner import settings_in
from tests.postgres import Postgres


def test_a_database_that_goes_away_for_a_while_is_waited_for(
    postgres: Postgres, tmp_path: Path
) -> None:
    first, second = (
        RemoteCoordinator(PostgresDocuments(postgres.url), tmp_path / name, expiry=1.5)
        for name in ("one", "two")
    )
    with closing(first), closing(second):
        before = first.change("outage", count_up)
        assert not second.is_dead(first.own)
        postgres.stop()
        try:
            waiting = threading.Thread(target=lambda: first.change("outage", count_up))
            waiting.start()
            until = time.monotonic() + 30
            while first.is_assured():
                assert time.monotonic() < until, "it begins what others may begin, too"
                time.sleep(0.05)
            assert waiting.is_alive()
        finally:
            postgres.start()
        waiting.join(60)
        assert first.change("outage", count_up) == before + 2
        assert not second.is_dead(first.own), "nobody could look while the database was away"
        until = time.monotonic() + 30
        while not first.is_assured():
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_database_that_stays_away_is_named_without_its_password(tmp_path: Path) -> None:
    documents = PostgresDocuments("postgresql://mill:s3cret@127.0.0.1:9/none")
    with pytest.raises(Unreachable) as away:
        documents.change("a", count_up)
    assert "s3cret" not in str(away.value)
    documents.close()


class Away:
    """Documents that can be out of reach."""

    place = "a place"

    def __init__(self) -> None:
        self.gone = False

    def identify(self) -> str:
        return "x"

    def change(self, name: str, edit: Any) -> Any:
        if self.gone:
            raise Unreachable("no route to host")
        return edit({})

    def close(self) -> None:
        """Nothing."""


def test_patience_ends_and_is_not_had_again(tmp_path: Path) -> None:
    documents = Away()
    coordinator = RemoteCoordinator(documents, tmp_path, expiry=30.0, patience=0.5)
    documents.gone = True
    with pytest.raises(CoordinationError, match=r"a place.*could not be reached.*run again"):
        coordinator.change("a", count_up)
    began = time.monotonic()
    with pytest.raises(CoordinationError):
        coordinator.change("a", count_up)
    coordinator.close()
    assert time.monotonic() - began < 0.4


def test_a_worker_of_another_version_does_not_share_a_database(
    postgres: Postgres, tmp_path: Path
) -> None:
    with closing(RemoteCoordinator(PostgresDocuments(postgres.url), tmp_path)) as coordinator:
        coordinator.change("", lambda document: document.update(format=2))
    try:
        with pytest.raises(CoordinationError, match=r"another version.*same version in all"):
            RemoteCoordinator(PostgresDocuments(postgres.url), tmp_path)
    finally:
        postgres.ask("drop table envmill_coordination")


def test_two_servers_at_one_lake_cannot_walk_one_run_without_seeing_each_other(
    postgres: Postgres, tmp_path: Path
) -> None:
    lake, other = Lake(tmp_path / "lake"), {"ENVMILL_DATABASE": postgres.url}
    here, there = (
        Settings.read({"ENVMILL_HOME": str(tmp_path / name), "ENVMILL_LAKE": lake.url} | more)
        for name, more in (("here", {}), ("there", other))
    )
    with closing(open_coordinator(here)) as ours, closing(open_coordinator(there)) as theirs:
        agree_on_coordinator("r1", lake, theirs)
        agree_on_coordinator("r1", lake, theirs)
        agree_on_coordinator("r2", lake, ours)
        with pytest.raises(
            SettingsError, match=r"Set ENVMILL_DATABASE.*delete .*coordinator\.json"
        ):
            agree_on_coordinator("r1", lake, ours)


def test_a_bucket_that_appears_empty_is_not_begun_anew(bucket: str, tmp_path: Path) -> None:
    store, home = S3Store(f"{bucket}/{tmp_path.name}"), tmp_path / "home"
    check_identity(store, home)
    check_identity(store, home)
    check_identity(store, tmp_path / "another home")
    store.delete("_lake.json")
    with pytest.raises(
        LakeError, match=r"appears empty.*no model was asked.*delete .*lakes"
    ) as empty:
        check_identity(store, home)
    assert store.entries("") == []
    check_identity(store, tmp_path / "a third home")
    with pytest.raises(LakeError, match="has another name"):
        check_identity(store, home)
    next((home / "lakes").iterdir()).unlink()
    check_identity(store, home)
    assert not empty.value.retryable


def test_a_budget_raised_by_a_slow_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second change was made on a machine whose clock is an hour behind."""
    lake, fixed = Lake(tmp_path / "lake"), RunConfig(budget_tokens=100)
    asked = RunConfig(run="r1", budget_tokens=200)
    agree_on_budget("r1", asked, fixed, lake)

    class Behind:
        @staticmethod
        def now(_: object) -> Any:
            from datetime import UTC, datetime, timedelta

            return datetime.now(UTC) - timedelta(hours=1)

    monkeypatch.setattr("envmill.lake.events.datetime", Behind)
    agree_on_budget("r1", asked.model_copy(update={"budget_tokens": 300}), fixed, lake)
    assert agree_on_budget("r1", RunConfig(run="r1"), fixed, lake).tokens == 300


def fill(disk: Path) -> None:
    """To its last byte."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


async def test_a_full_disk_of_one_worker_is_told_and_the_others_go_on(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinate(monkeypatch, expiry=60.0)
    lake = str(tmp_path / "lake")
    full, other = (replace(settings_in(home), lake=lake) for home in (small_disk, tmp_path))
    async with open_walk("r1", CONFIG, full) as first, open_walk("r1", CONFIG, other) as second:
        fill(small_disk)
        with pytest.raises(EnvMillError, match=rf"{small_disk}.*No space left.*Free space") as told:
            await first.work(GENERATE, 0)
        assert "run again" in told.value.message
        await second.work(GENERATE, 0)
        (small_disk / "filler").unlink()
    assert len(Lake(lake).read(Blueprint, "r1")) == CONFIG.environments


def test_documents_on_a_full_disk_are_as_they_were(small_disk: Path) -> None:
    full = FolderCoordinator(small_disk / "home")
    with pytest.raises(CoordinationError, match="Free space there"):
        full.change("large", lambda document: document.update(text="x" * 2_000_000))
    assert full.change("large", lambda document: dict(document)) in ({}, {"text": ""})
    full.close()


def test_writers_that_were_stopped_for_long_change_nothing(tmp_path: Path) -> None:
    """A version that was removed is free again; who puts there was too slow, and asks anew."""
    now = [0.0]
    slow = ObjectDocuments(LocalStore(str(tmp_path)), lambda: now[0])
    quick = ObjectDocuments(LocalStore(str(tmp_path)), lambda: now[0])
    slow.change("a", count_up)

    def stop_and_count(document: Document) -> int:
        if now[0] == 0.0:
            for _ in range(3):
                quick.change("a", count_up)
            for number in (1, 2, 3):
                LocalStore(str(tmp_path)).delete(f"_coordination/a/{number:012d}.json")
            now[0] = 500.0
        return count_up(document)

    assert slow.change("a", stop_and_count) == 5
    assert quick.change("a", count_up) == 6


async def test_a_budget_whose_document_is_away_raises_and_settles_later(tmp_path: Path) -> None:
    documents = ObjectDocuments(LocalStore(str(tmp_path / "lake")))
    coordinator = RemoteCoordinator(documents, tmp_path / "home", patience=0.1)
    budget = Budget(coordinator, "r1", Allowance(tokens=100), Amount())
    hold = await budget.hold(Amount(0.0, 60))
    real = documents.change

    def fail(name: str, edit: Any) -> Any:
        raise Unreachable("away")

    documents.change = fail  # type: ignore[method-assign]
    hold.settle(Amount(0.0, 50))
    with pytest.raises(CoordinationError):
        await budget.hold(Amount(0.0, 10))
    documents.change = real  # type: ignore[method-assign]
    assert budget.spent().tokens == 50
    budget.close()
    coordinator.close()


def test_settings_choose_the_coordinator(tmp_path: Path) -> None:
    settings = Settings.read({"ENVMILL_HOME": str(tmp_path), "ENVMILL_LAKE": str(tmp_path / "l")})
    with closing(open_coordinator(settings)) as coordinator:
        assert isinstance(coordinator, FolderCoordinator)
