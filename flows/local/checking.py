"""What `envmill up --check` looks at: whether everything that `up` starts does its work, the
schedule above all."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from envmill.base.errors import EnvMillError
from flows.local.api import Api, connect
from flows.local.errors import NoServer, ServerRefused
from flows.local.home import Home
from flows.local.pools import read_profile
from flows.local.process import Process
from flows.local.runs import UNDER_WAY, is_walked, list_runs
from flows.local.service import find_server, has_deployments

_UP = "Run `envmill up`."
_RESTART = "Run `envmill down`, then `envmill up`."
NIGHTLY = "factory-nightly"
_PAGE = 200
"""Most records the server gives at once."""
_SCHEDULED = 30.0
"""Seconds the scheduler may need to plan the next nights after a deployment."""


@dataclass(frozen=True)
class ServicePart:
    """One thing that has to be up."""

    name: str
    seen: str
    mend: str = ""
    """What to do; empty when all is well."""


def check(home: Home) -> Iterator[ServicePart]:
    """Every part, whatever the ones before it say."""
    try:
        url = find_server(home)
    except NoServer as error:
        yield ServicePart("server", error.message, _UP)
        return
    with connect(home, url, patience=5) as api:
        try:
            api.get("/health")
        except (NoServer, ServerRefused) as error:
            yield ServicePart("server", error.message, f"{_RESTART} Its log: {home.log('server')}.")
            return
        yield ServicePart("server", url)
        yield from (_check_process(home, name) for name in ("worker", "watchdog"))
        yield _check_pool(home, api)
        yield (
            ServicePart("deployments", "those of prefect.yaml")
            if has_deployments(home, api)
            else ServicePart("deployments", "not as in prefect.yaml", _UP)
        )
        yield _check_schedule(api)
        yield _check_runs(home, api)
        yield check_records(home, api)


def _check_process(home: Home, name: str) -> ServicePart:
    record = Process(home, name).running()
    return (
        ServicePart(name, f"pid {record.pid}")
        if record
        else ServicePart(name, f"does not run; its log: {home.log(name)}", _UP)
    )


def _check_pool(home: Home, api: Api) -> ServicePart:
    online = api.post(
        f"/work_pools/{read_profile(home).pool}/workers/filter",
        {"workers": {"status": {"any_": ["ONLINE"]}}},
    )
    return ServicePart("pool", f"{len(online)} worker(s) online", "" if online else _RESTART)


def _check_schedule(api: Api) -> ServicePart:
    """A scheduler can fail without a word, and then no night ever comes."""
    planned = {
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "deployments": {"name": {"any_": [NIGHTLY]}},
        "limit": 1,
    }
    until = time.monotonic() + _SCHEDULED
    while (
        not (found := api.post("/flow_runs/filter", {**planned, "sort": "EXPECTED_START_TIME_ASC"}))
        and time.monotonic() < until
    ):
        time.sleep(1)
    if found:
        return ServicePart("schedule", f"next at {found[0]['expected_start_time'][:16]} UTC")
    return ServicePart(
        "schedule",
        "no run is planned",
        f"{_RESTART} If it stays so, the scheduler fails: see the server's log, and the pins of "
        "requirements.lock.",
    )


def _check_runs(home: Home, api: Api) -> ServicePart:
    under_way = list_runs(api, UNDER_WAY)
    idle = [flow_run["id"] for flow_run in under_way if not is_walked(home, flow_run["id"])]
    return ServicePart(
        "runs",
        f"{len(under_way)} under way"
        + (f", {len(idle)} of them without a process here: {', '.join(idle[:3])}" if idle else ""),
    )


def check_records(home: Home, api: Api) -> ServicePart:
    """A flooded or killed server drops records of tasks without a word. Nothing depends on them; its
    pages show less than was done."""
    wanted = {
        "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}},
        "flows": {"name": {"any_": ["factory"]}},
        "limit": 1,
    }
    latest = api.post("/flow_runs/filter", {**wanted, "sort": "END_TIME_DESC"})
    if not latest:
        return ServicePart("records", "no run completed yet")
    run = latest[0]["id"]
    try:
        published = _list_published(home, run)
    except EnvMillError as error:
        return ServicePart("records", error.message, "Mend the lake, then ask again.")
    if lost := sorted(published - _list_recorded(api, run)):
        told = (
            f"the server lost {len(lost)} of {len(published)} tasks of run {run}, {lost[0]} "
            "among them; the lake has all"
        )
        return ServicePart("records", told)
    return ServicePart("records", f"all {len(published)} tasks of run {run}")


def _list_published(home: Home, run: str) -> set[str]:
    """Tasks that left something in the lake, by their names (tasks/policy.py)."""
    from envmill.lake.lake import Lake  # late: DuckDB and Arrow are for those who check
    from envmill.lake.sql import fetch

    asked = "select distinct step, bucket from attrition where run = ? and gate = 'exit'"
    return {
        f"{step}-b{bucket:02d}" for step, bucket in fetch(Lake(home.settings.lake), asked, [run])
    }


def _list_recorded(api: Api, run: str) -> set[str]:
    names: set[str] = set()
    offset = 0
    while page := api.post(
        "/task_runs/filter",
        {"flow_runs": {"id": {"any_": [run]}}, "limit": _PAGE, "offset": offset},
    ):
        names |= {task["name"] for task in page}
        offset += _PAGE
    return names
