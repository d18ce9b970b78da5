"""The watchdog's judgement, on a server that tells what it is told to. What it does to real
processes is tests/e2e's."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.errors import EnvMillError
from envmill.base.settings import ROOT
from flows.local.api import Api
from flows.local.home import Home
from flows.local.lease import hold_lease, is_held, list_leases, read_lease
from flows.local.runs import STOPPED, close_lost_runs, name_worker
from flows.local.watchdog import PACE, PATIENCE, REST, RESUMED, TIMES, Watchdog

RUN = "11111111-2222-3333-4444-555555555555"
HOLDER = """
import asyncio, sys
from pathlib import Path
from flows.local.lease import hold_lease
async def main():
    async with hold_lease(Path(sys.argv[1]), sys.argv[2]):
        print("held", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


class Server:
    """Flow runs, the states they were in, and what it was asked to change."""

    def __init__(self, *runs: dict[str, Any], past: tuple[str, ...] = ()) -> None:
        self.runs = list(runs)
        self.past = [{"message": message} for message in past]
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def get(self, path: str) -> Any:
        assert path.startswith("/flow_run_states/")
        return self.past

    def post(self, path: str, body: dict[str, Any]) -> Any:
        if path == "/flow_runs/filter":
            wanted = body["flow_runs"]["state"]["type"]["any_"]
            return [run for run in self.runs if run["state_type"] in wanted]
        self.asked.append((path, body["state"]))
        return {"status": "ACCEPT"}

    @property
    def said(self) -> list[str]:
        return [state.get("name") or state["type"] for _, state in self.asked]


def tell(state: str, age: float, message: str = "", worker: str = "") -> dict[str, Any]:
    """A flow run as the server tells it."""
    entered = (datetime.now(UTC) - timedelta(seconds=age)).isoformat()
    return {
        "id": RUN,
        "state_type": state,
        "state": {"timestamp": entered, "message": message},
        "labels": {"prefect.worker.name": worker or name_worker()},
    }


def tend(home: Home, server: Server) -> list[str]:
    said: list[str] = []
    Watchdog(home, said.append).tend(cast(Api, server))
    return said


@pytest.fixture
def holder(home: Home) -> Iterator[subprocess.Popen[str]]:
    """A process that walks the run."""
    home.folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", HOLDER, str(home.folder), RUN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_walked_run_is_left_alone_and_a_killed_one_is_crashed(
    home: Home, holder: subprocess.Popen[str]
) -> None:
    server = Server(tell("RUNNING", 3600))
    tend(home, server)
    assert is_held(home.folder, RUN)
    assert server.said == []
    holder.kill()
    holder.wait()
    tend(home, server)
    assert server.said == ["CRASHED"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        pytest.param(("RUNNING", PATIENCE + 1), ["CRASHED"], id="nobody walks it"),
        pytest.param(("RUNNING", PATIENCE - 5), [], id="it has just begun"),
        pytest.param(
            ("RUNNING", -7200), [], id="the clock was set back, and it is seen for the first time"
        ),
        pytest.param(("PENDING", PATIENCE + 1), [], id="its process is being started"),
        pytest.param(("PENDING", 2 * PATIENCE + 1), ["CRASHED"], id="its process never came"),
        pytest.param(("CANCELLING", PATIENCE + 1), ["CANCELLED"], id="it was being cancelled"),
        pytest.param(
            ("RUNNING", 3600, "", "local-elsewhere"), [], id="another host's worker started it"
        ),
        pytest.param(("CRASHED", REST + 1), ["AwaitingRetry"], id="crashed"),
        pytest.param(("CRASHED", REST - 5), [], id="crashed just now"),
        pytest.param(("CRASHED", 86400), [], id="crashed yesterday"),
        pytest.param(("CRASHED", REST + 1, STOPPED), [], id="stopped on purpose"),
        pytest.param(("FAILED", REST + 1), [], id="failed"),
    ],
)
def test_each_run_gets_what_its_state_and_age_ask_for(
    home: Home, told: tuple[Any, ...], said: list[str]
) -> None:
    server = Server(tell(*told))
    tend(home, server)
    assert server.said == said


@pytest.mark.parametrize(
    ("state", "patience", "said"),
    [
        ("RUNNING", PATIENCE, "CRASHED"),
        ("PENDING", 2 * PATIENCE, "CRASHED"),
        ("CRASHED", REST, "AwaitingRetry"),
    ],
)
def test_a_clock_that_was_set_back_keeps_nobody_waiting(
    home: Home, monkeypatch: pytest.MonkeyPatch, state: str, patience: float, said: str
) -> None:
    """States dated ahead are as old as they were seen to be."""
    server, watchdog, now = Server(tell(state, -7200)), Watchdog(home, print), time.monotonic()
    for later, told in ((0, []), (patience - 1, []), (patience, [said])):
        monkeypatch.setattr("flows.local.runs.time.monotonic", lambda at=now + later: at)
        watchdog.tend(cast(Api, server))
        assert server.said == told


def test_a_crashed_run_is_resumed_three_times_and_then_given_up_once(home: Home) -> None:
    past = tuple(f"{RESUMED}, {number} of {TIMES}." for number in range(1, TIMES))
    server = Server(tell("CRASHED", REST + 1), past=("anything", *past))
    assert tend(home, server) == [f"run {RUN}: {RESUMED}, {TIMES} of {TIMES}."]
    server.past.append({"message": server.asked.pop()[1]["message"]})
    said: list[str] = []
    watchdog = Watchdog(home, said.append)
    watchdog.tend(cast(Api, server))
    watchdog.tend(cast(Api, server))
    assert server.said == []
    assert said == [
        f"run {RUN}: crashed again after {TIMES} resumptions. Look at its log, then Retry."
    ]


def test_a_crashed_run_whose_process_still_lives_is_not_started_a_second_time(
    home: Home, holder: subprocess.Popen[str]
) -> None:
    server = Server(tell("CRASHED", REST + 1))
    tend(home, server)
    assert server.said == []


@pytest.mark.parametrize(("age", "lost"), [(5.0, False), (120.0, True)])
def test_another_hosts_lease_counts_while_it_is_renewed(home: Home, age: float, lost: bool) -> None:
    folder = home.folder / "runs"
    folder.mkdir(parents=True)
    lease = {"host": "elsewhere", "boot": "b", "pid": 1, "renewed": time.time() - age}
    (folder / f"{RUN}.json").write_text(json.dumps(lease))
    server = Server(tell("RUNNING", 3600, worker="local-elsewhere"))
    assert bool(close_lost_runs(home, cast(Api, server), PATIENCE)) is lost


@pytest.fixture
def looked(home: Home, monkeypatch: pytest.MonkeyPatch) -> tuple[Watchdog, Server, list[int]]:
    """A watchdog at its rounds, the server that it asks, and at which rounds it asked."""
    server, asked = Server(), list[int]()
    watchdog = Watchdog(home, print)
    rounds = iter(range(100))

    @contextmanager
    def connect(*_: object, **__: object) -> Iterator[Server]:
        asked.append(now[0])
        yield server

    now = [0]

    def keep_up(*_: object) -> list[str]:
        now[0] = next(rounds)
        return []

    monkeypatch.setattr("flows.local.watchdog.keep_up", keep_up)
    monkeypatch.setattr("flows.local.watchdog.connect", connect)
    monkeypatch.setattr("flows.local.watchdog.find_server", lambda _: "")
    return watchdog, server, asked


def test_a_server_on_which_nothing_is_under_way_is_asked_seldom(
    looked: tuple[Watchdog, Server, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watchdog, _, asked = looked
    start = time.monotonic()
    for number in range(11):
        monkeypatch.setattr(
            "flows.local.watchdog.time.monotonic", lambda at=start + number * PACE: at
        )
        watchdog.check()
    assert asked == [0, 5, 10]


def test_a_run_that_begins_is_seen_at_the_next_round(
    home: Home, looked: tuple[Watchdog, Server, list[int]], holder: subprocess.Popen[str]
) -> None:
    """By its lock, whatever the server said last; and while it is under way, or crashed lately, every round asks."""
    watchdog, server, asked = looked
    watchdog.check()
    server.runs = [tell("RUNNING", PATIENCE - 5)]
    watchdog.check()
    holder.kill()
    holder.wait()
    watchdog.check()
    server.runs = [tell("CRASHED", REST - 5)]
    watchdog.check()
    server.runs = [tell("COMPLETED", 0)]
    watchdog.check()
    assert asked == [0, 1, 2, 3, 4]
    watchdog.check()
    assert asked == [0, 1, 2, 3, 4]


async def test_a_lease_says_who_walks_and_is_gone_afterwards(tmp_path: Path) -> None:
    async with hold_lease(tmp_path, RUN):
        lease = read_lease(tmp_path, RUN)
        while lease is None:  # the first renewal is a task of its own
            await asyncio.sleep(0.01)
            lease = read_lease(tmp_path, RUN)
        assert lease.pid == os.getpid()
        assert not lease.is_live_elsewhere(time.time())
        with pytest.raises(EnvMillError, match=f"already worked on by process {os.getpid()}"):
            async with hold_lease(tmp_path, RUN, patience=0):
                pass
        assert is_held(tmp_path, RUN)
    assert not is_held(tmp_path, RUN)
    assert read_lease(tmp_path, RUN) is None


def test_what_a_finished_run_left_is_removed(home: Home) -> None:
    folder = home.folder / "runs"
    folder.mkdir(parents=True)
    (folder / f"{RUN}.lock").touch()
    tend(home, Server(tell("RUNNING", 0)))
    assert list_leases(home.folder) == [RUN]
    tend(home, Server(tell("COMPLETED", 0)))
    assert list_leases(home.folder) == []
