"""What `up --check` finds of the server's own records, beside what the lake holds."""

from typing import Any, cast

import pytest

from envmill.lake.lake import Lake
from flows.local.api import Api
from flows.local.checking import check_records
from flows.local.home import Home
from tests.report.crowd import RUN, fill


class Server:
    """Which tasks of one completed run it knows."""

    def __init__(self, *tasks: str) -> None:
        self.tasks = [{"name": name} for name in tasks]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        if path == "/flow_runs/filter":
            return [{"id": RUN}]
        return self.tasks[body["offset"] : body["offset"] + 2]


STEPS = [f"environments-{stage}" for stage in ("generate", "build", "verify", "filter")]
STEPS += [f"scenarios-{stage}" for stage in ("generate", "build", "verify", "filter", "collect")]


@pytest.mark.parametrize(
    ("gone", "said"),
    [(0, "all 9 tasks"), (2, "lost 2 of 9 tasks of run crowd, environments-build-b00 among them")],
)
def test_tasks_that_the_server_has_no_record_of_are_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, gone: int, said: str
) -> None:
    fill(Lake(home.settings.lake), 90, buckets=1)
    monkeypatch.setattr("flows.local.checking._PAGE", 2)
    known = [f"{step}-b00" for step in STEPS]
    part = check_records(home, cast(Api, Server("quality-of-run", known[0], *known[1 + gone :])))
    assert said in part.seen
    assert not part.mend
