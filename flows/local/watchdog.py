"""The watchdog: keeps server and worker up, says of a run whose process died that it crashed, and
starts it again.

every 3 s    server or worker gone ─► started again, later each time it dies young
every 3 s while a run is under way or left something, else every 15 s
             run under way that nobody walks ─► Crashed, and its place in the schedule is free
             Crashed for 15 s, and started again less than three times ─► AwaitingRetry
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from envmill.base.errors import EnvMillError
from flows.local.api import Api, connect
from flows.local.home import Home
from flows.local.lease import forget, is_any_held, list_leases
from flows.local.process import Process
from flows.local.runs import (
    STOPPED,
    UNDER_WAY,
    Ages,
    FlowRun,
    close_lost_runs,
    is_walked,
    list_runs,
)
from flows.local.service import find_server, keep_up

PACE = 3.0
QUIET = 15.0
"""Seconds between two questions to a server on which nothing was under way at the last one."""
PATIENCE = 10.0
"""Seconds a run may be under way without a process: it is between its state and its first lock, or
the worker is about to report."""
REST = 15.0
"""Seconds after a crash: the worker reports a death twice, and its second report would overwrite an
earlier resumption."""
FRESH = 3600.0
"""Seconds after which a crash is its owner's to look at."""
TIMES = 3
RESUMED = "Resumed by the watchdog"

Say = Callable[[str], None]


@dataclass
class Watchdog:
    """One home's watchdog; its memory is what it must not say twice, and when it may start what
    died young."""

    home: Home
    say: Say
    _given_up: set[str] = field(default_factory=set)
    _deaths: int = 0
    _next_start: float = 0.0
    _ages: Ages = field(default_factory=Ages)
    _next_question: float = 0.0

    def watch(self) -> None:
        """For ever, until its home says it is down."""
        while Process(self.home, "watchdog").read() is not None:
            try:
                self.check()
            except (
                EnvMillError
            ) as error:  # a server that is just starting, or sick: looked at again
                self.say(error.message.splitlines()[0])
            time.sleep(PACE)

    def check(self) -> None:
        """Once around."""
        self._keep_up()
        if time.monotonic() < self._next_question and not is_any_held(self.home.folder):
            return
        with connect(self.home, find_server(self.home), patience=0) as api:
            busy = self.tend(api)
        self._next_question = 0.0 if busy else time.monotonic() + QUIET

    def tend(self, api: Api) -> bool:
        """The runs of one server; whether any is under way or may have to be resumed."""
        under_way = list_runs(api, UNDER_WAY)
        for run in close_lost_runs(self.home, api, PATIENCE, ages=self._ages, among=under_way):
            self.say(f"run {run}: its process died; marked so, and its place is free")
        crashed = list_runs(api, ["CRASHED"])
        self._resume(api, crashed)
        self._forget_ended(api)
        return bool(under_way) or any(
            self._is_ours(run, 0.0) for run in crashed if run["id"] not in self._given_up
        )

    def _keep_up(self) -> None:
        """Deaths in a row double the wait, up to a minute: what cannot start must not eat the
        machine."""
        if time.monotonic() < self._next_start:
            return
        try:
            gone = keep_up(self.home, self.say)
        except EnvMillError:
            self._wait_longer()
            raise
        if gone:
            self._wait_longer()
            self.say(f"{' and '.join(gone)} had died")

    def _wait_longer(self) -> None:
        self._deaths = self._deaths + 1 if time.monotonic() < self._next_start + 300 else 1
        self._next_start = time.monotonic() + min(60.0, 2.0**self._deaths)

    def _resume(self, api: Api, crashed: Sequence[FlowRun]) -> None:
        for flow_run in crashed:
            if self._is_ours(flow_run, REST) and not is_walked(self.home, flow_run["id"]):
                self._resume_one(api, flow_run)

    def _is_ours(self, flow_run: FlowRun, rest: float) -> bool:
        """Whether it crashed lately, so many seconds ago at least, and nobody stopped it."""
        stopped = (flow_run["state"].get("message") or "").startswith(STOPPED)
        return not stopped and rest <= self._ages.measure(flow_run) <= FRESH

    def _resume_one(self, api: Api, flow_run: FlowRun) -> None:
        times = count_resumed(api, flow_run["id"])
        if times < TIMES:
            message = f"{RESUMED}, {times + 1} of {TIMES}."
            state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": message}
            api.post(f"/flow_runs/{flow_run['id']}/set_state", {"state": state, "force": False})
            self.say(f"run {flow_run['id']}: {message}")
        elif flow_run["id"] not in self._given_up:
            self._given_up.add(flow_run["id"])
            self.say(
                f"run {flow_run['id']}: crashed again after {TIMES} resumptions. Look at its log, "
                "then Retry."
            )

    def _forget_ended(self, api: Api) -> None:
        left = list_leases(self.home.folder)
        if not left:
            return
        ended = api.post(
            "/flow_runs/filter",
            {"flow_runs": {"id": {"any_": left[:100]}, "state": {"type": {"any_": ["COMPLETED"]}}}},
        )
        for flow_run in ended:
            if not is_walked(self.home, flow_run["id"]):
                forget(self.home.folder, flow_run["id"])


def count_resumed(api: Api, flow_run: str) -> int:
    """The server keeps every state a run was in, so that a watchdog that died itself counts
    right."""
    states = api.get(f"/flow_run_states/?flow_run_id={flow_run}")
    return sum((state.get("message") or "").startswith(RESUMED) for state in states)


def main() -> None:
    """Started by `envmill up`, which gives it its surroundings."""

    def log(text: str) -> None:
        sys.stdout.write(f"{datetime.now(UTC).isoformat(timespec='seconds')}  {text}\n")
        sys.stdout.flush()

    Watchdog(Home.read(os.environ), log).watch()


if __name__ == "__main__":
    main()
