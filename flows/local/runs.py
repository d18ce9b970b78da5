"""Flow runs whose process is gone: Prefect leaves them Running for ever, and what runs cannot be retried."""

from pathlib import Path
from typing import Any

from flows.local.api import Api
from flows.local.home import Home
from flows.local.process import find_marked

POOL = "envmill"
AWAITING = "AwaitingBatch"
"""Name of the state of a run that waits for batches; the server starts it again by itself, hours later if need be."""
UNDER_WAY = ["RUNNING", "PENDING", "CANCELLING"]


def close_lost_runs(home: Home, api: Api) -> list[str]:
    """Say Crashed of every run that no process of this home walks. Only right while no worker is about to start one."""
    walked = find_walked(home)
    under_way = {"flow_runs": {"state": {"type": {"any_": UNDER_WAY}}}, "work_pools": {"name": {"any_": [POOL]}}}
    found: list[dict[str, Any]] = api.post("/flow_runs/filter", under_way)
    lost = [flow_run["id"] for flow_run in found if flow_run["id"] not in walked]
    state = {"type": "CRASHED", "message": "Its process is gone. Retry goes on where it stopped."}
    for flow_run in lost:
        api.post(f"/flow_runs/{flow_run}/set_state", {"state": state, "force": True})
    return lost


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
