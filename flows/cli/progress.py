"""A flow run followed to its end, one plain line for each thing that happened."""

import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from flows.local.api import Api
from flows.local.runs import AWAITING

FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
# seconds until the server has written down the last task runs of a run that is over: it does so
# every second
RECORDING = 1.3
SILENCE = 90.0  # seconds after which a run that waits deserves a hint


class Progress:
    """What has been said of a flow run so far."""

    def __init__(
        self,
        api: Api,
        flow_run: str,
        say: Callable[[str], None],
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._tick = tick
        self._flow_run = flow_run
        self._say = say
        self._began = time.monotonic()
        self._heard = self._began
        self._state = ""
        self._steps: dict[str, str] = {}

    def follow(self) -> dict[str, Any]:
        """Poll until the run is over; returns it as the server tells it."""
        while True:
            found = self._api.get(f"/flow_runs/{self._flow_run}")
            over = found["state_type"] in FINAL
            if over:
                time.sleep(RECORDING)
            self._report_steps(found)
            if found["state_name"] != self._state:
                self._state = found["state_name"]
                told = (
                    f". {(found.get('state') or {}).get('message')}"
                    if self._state == AWAITING
                    else ""
                )
                self._report(f"run {found['name']}: {self._state}{told}")
            if over:
                return found
            if self._state != AWAITING:
                self._report_silence(found["state_type"])
            self._tick()
            time.sleep(0.5)

    def _report(self, text: str) -> None:
        self._heard = time.monotonic()
        self._say(f"{self._heard - self._began:6.1f} s  {text}")

    def _report_silence(self, state_type: str) -> None:
        if state_type == "SCHEDULED" and time.monotonic() - self._heard > SILENCE:
            self._report("still waiting for a worker; see `envmill status`")

    def _report_steps(self, found: dict[str, Any]) -> None:
        for step, states in self._count_states(found).items():
            told = ", ".join(f"{count} {name.lower()}" for name, count in sorted(states.items()))
            if not set(states) - FINAL and self._steps.get(step) != told:
                self._steps[step] = told
                self._report(f"{step}: {told}")

    def _count_states(self, found: dict[str, Any]) -> dict[str, Counter[str]]:
        """Step → how many of its batches are in which state, in this attempt of the run only."""
        children = self._page(
            "/flow_runs/filter", {"flow_runs": {"parent_flow_run_id": {"any_": [self._flow_run]}}}
        )
        ids = [self._flow_run, *(child["id"] for child in children)]
        steps: dict[str, Counter[str]] = {}
        for task_run in self._page(
            "/task_runs/filter",
            {"flow_runs": {"id": {"any_": ids}}, "sort": "EXPECTED_START_TIME_ASC"},
        ):
            current = (
                task_run["flow_run_id"] != self._flow_run
                or task_run["flow_run_run_count"] == found["run_count"]
            )
            if current and task_run["state_type"]:
                steps.setdefault(_name_step(task_run["name"]), Counter())[
                    task_run["state_type"]
                ] += 1
        return steps

    def _page(self, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The server hands out at most 200 rows at once."""
        rows: list[dict[str, Any]] = []
        while len(rows) % 200 == 0:
            page = self._api.post(path, {**body, "limit": 200, "offset": len(rows)})
            rows.extend(page)
            if not page:
                break
        return rows


def _name_step(task_run: str) -> str:
    """Task runs are named step-bucket: `environments-build-b03`."""
    return re.sub(r"-b?\d+$", "", task_run)
