"""Flow runs whose process is gone: Prefect leaves them Running for ever, and what runs can neither be retried nor gives its place free."""

import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.local.api import Api
from flows.local.home import Home
from flows.local.lease import is_held, read_lease
from flows.local.process import find_marked

POOL = "envmill"
AWAITING = "AwaitingBatch"
"""Name of the state of a run that waits for batches; the server starts it again by itself, hours later if need be."""
UNDER_WAY = ["RUNNING", "PENDING", "CANCELLING"]
STOPPED = "Stopped by `envmill down`."
"""How the message of a run begins that was cut off on purpose: nobody resumes it but its owner."""
LOST = "Its process is gone. Retry goes on where it stopped."

FlowRun = dict[str, Any]


def name_worker() -> str:
    """Several hosts may serve one pool; each keeps watch over what its own worker started."""
    return f"local-{socket.gethostname()}"


def close_lost_runs(home: Home, api: Api, patience: float = 0.0, why: str = LOST) -> list[str]:
    """Say Crashed of every run that no process walks, or Cancelled of one that was to be. A run gets the patience (seconds, twice that
    before its first breath) to get from its state to its process; none is right only while no worker is about to start one."""
    lost = [flow_run for flow_run in list_runs(api, UNDER_WAY) if is_lost(home, flow_run, datetime.now(UTC), patience)]
    for flow_run in lost:
        kind = "CANCELLED" if flow_run["state_type"] == "CANCELLING" else "CRASHED"
        api.post(f"/flow_runs/{flow_run['id']}/set_state", {"state": {"type": kind, "message": why}, "force": True})
    return [flow_run["id"] for flow_run in lost]


def list_runs(api: Api, states: list[str]) -> list[FlowRun]:
    """Flow runs of our pool in one of the states, the latest 200."""
    wanted = {"flow_runs": {"state": {"type": {"any_": states}}}, "work_pools": {"name": {"any_": [POOL]}}}
    return api.post("/flow_runs/filter", {**wanted, "sort": "EXPECTED_START_TIME_DESC", "limit": 200})


def is_lost(home: Home, flow_run: FlowRun, now: datetime, patience: float) -> bool:
    """Whether nobody walks a run that is under way. What another host's worker started is for that host to judge."""
    if is_walked(home, flow_run["id"]):
        return False
    lease = read_lease(home.folder, flow_run["id"])
    if lease.is_live_elsewhere(now.timestamp()) if lease else _is_elsewhere(flow_run):
        return False
    return measure_age(flow_run, now) >= patience * (2 if flow_run["state_type"] == "PENDING" else 1)


def is_walked(home: Home, flow_run: str) -> bool:
    """By its lock, or by its process where that has not come to the lock yet."""
    return is_held(home.folder, flow_run) or flow_run in find_walked(home)


def measure_age(flow_run: FlowRun, now: datetime) -> float:
    """Seconds in its present state; a clock set back makes none of them negative."""
    return max(0.0, (now - datetime.fromisoformat(flow_run["state"]["timestamp"])).total_seconds())


def _is_elsewhere(flow_run: FlowRun) -> bool:
    """Workers label what they start with their name, and ours bears the host's."""
    return (flow_run.get("labels") or {}).get("prefect.worker.name", name_worker()) != name_worker()


def find_walked(home: Home) -> dict[str, int]:
    """Flow run id → pid of the process that walks it."""
    walked: dict[str, int] = {}
    for pid in sorted(find_marked(home), reverse=True):  # the oldest last: children inherit the variable
        if run := _read_flow_run(pid):
            walked[run] = pid
    return walked


def _read_flow_run(pid: int) -> str:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((value.decode() for name, _, value in (one.partition(b"=") for one in variables) if name == b"PREFECT__FLOW_RUN_ID"), "")
