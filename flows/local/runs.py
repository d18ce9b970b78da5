"""Flow runs whose process is gone: Prefect leaves them Running for ever, and what runs can neither
be retried nor gives its place free."""

import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.local.api import Api
from flows.local.home import Home
from flows.local.lease import is_held, read_lease
from flows.local.pools import POOLS
from flows.local.process import find_marked

AWAITING = "AwaitingBatch"
"""Name of the state of a run that waits for batches; the server starts it again by itself, hours
later if need be."""
UNDER_WAY = ["RUNNING", "PENDING", "CANCELLING"]
STOPPED = "Stopped by `envmill down`."
"""How the message of a run begins that was cut off on purpose: nobody resumes it but its owner."""
LOST = "Its process is gone. Retry goes on where it stopped."

_REMEMBERED = 1000
"""States whose first sight is remembered; to forget one makes its run seem younger."""

FlowRun = dict[str, Any]


def name_worker() -> str:
    """Several hosts may serve one pool; each keeps watch over what its own worker started."""
    return f"local-{socket.gethostname()}"


class Ages:
    """How long runs have been in their states: by the dates these bear, or by what was seen of
    them. After a clock was set back states are
    dated ahead of it, and a dead run would keep its place until the clock had caught up."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] = {}

    def measure(self, flow_run: FlowRun) -> float:
        entered, now = flow_run["state"]["timestamp"], time.monotonic()
        if len(self._seen) > _REMEMBERED:
            self._seen.clear()
        seen = self._seen.setdefault((flow_run["id"], entered), now)
        return max(
            (datetime.now(UTC) - datetime.fromisoformat(entered)).total_seconds(), now - seen
        )


def close_lost_runs(
    home: Home,
    api: Api,
    patience: float = 0.0,
    why: str = LOST,
    ages: Ages | None = None,
    among: Sequence[FlowRun] | None = None,
) -> list[str]:
    """Say Crashed of every run that no process walks, or Cancelled of one that was to be. A run
    gets the patience (seconds, twice that
    before its first breath) to get from its state to its process; none is right only while no
    worker is about to start one."""
    ages = ages or Ages()
    among = list_runs(api, UNDER_WAY) if among is None else among
    lost = [flow_run for flow_run in among if is_lost(home, flow_run, ages, patience)]
    for flow_run in lost:
        kind = "CANCELLED" if flow_run["state_type"] == "CANCELLING" else "CRASHED"
        api.post(
            f"/flow_runs/{flow_run['id']}/set_state",
            {"state": {"type": kind, "message": why}, "force": True},
        )
    return [flow_run["id"] for flow_run in lost]


def list_runs(api: Api, states: list[str]) -> list[FlowRun]:
    """Flow runs of our pools in one of the states, the latest 200."""
    wanted = {
        "flow_runs": {"state": {"type": {"any_": states}}},
        "work_pools": {"name": {"any_": POOLS}},
    }
    return api.post(
        "/flow_runs/filter", {**wanted, "sort": "EXPECTED_START_TIME_DESC", "limit": 200}
    )


def is_lost(home: Home, flow_run: FlowRun, ages: Ages, patience: float) -> bool:
    """Whether nobody walks a run that is under way. What another host's worker started is for that
    host to judge."""
    if is_walked(home, flow_run["id"]):
        return False
    lease = read_lease(home.folder, flow_run["id"])
    if lease.is_live_elsewhere(time.time()) if lease else _is_elsewhere(flow_run):
        return False
    return ages.measure(flow_run) >= patience * (2 if flow_run["state_type"] == "PENDING" else 1)


def is_walked(home: Home, flow_run: str) -> bool:
    """By its lock, or by its process where that has not come to the lock yet."""
    return is_held(home.folder, flow_run) or flow_run in find_walked(home)


def _is_elsewhere(flow_run: FlowRun) -> bool:
    """Workers label what they start with their name, and ours bears the host's."""
    return (flow_run.get("labels") or {}).get("prefect.worker.name", name_worker()) != name_worker()


def find_walked(home: Home) -> dict[str, int]:
    """Flow run id → pid of the process that walks it."""
    walked: dict[str, int] = {}
    for pid in sorted(
        find_marked(home), reverse=True
    ):  # the oldest last: children inherit the variable
        if run := _read_flow_run(pid):
            walked[run] = pid
    return walked


def _read_flow_run(pid: int) -> str:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next(
        (
            value.decode()
            for name, _, value in (one.partition(b"=") for one in variables)
            if name == b"PREFECT__FLOW_RUN_ID"
        ),
        "",
    )
