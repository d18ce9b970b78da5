from collections.abc import Sequence
from typing import Any

import pytest

from flows.cli import progress
from flows.cli.progress import Progress


class Script:
    """A server that tells a prepared story: one chapter per look at the flow run."""

    def __init__(self, chapters: Sequence[tuple[str, dict[str, str]]]) -> None:
        self._chapters = list(chapters)
        self._tasks: dict[str, str] = {}

    def get(self, path: str) -> Any:
        state, self._tasks = self._chapters.pop(0)
        return {
            "id": path.rsplit("/", 1)[-1],
            "name": "run",
            "run_count": 2,
            "state_name": state.title(),
            "state_type": state,
        }

    def post(self, path: str, body: dict[str, Any]) -> Any:
        if path.startswith("/flow_runs") or body["offset"]:
            return []
        left = [
            {"name": name, "state_type": "RUNNING", "flow_run_id": "f", "flow_run_run_count": 1}
            for name in self._tasks
        ]
        return left + [
            {"name": name, "state_type": state, "flow_run_id": "f", "flow_run_run_count": 2}
            for name, state in self._tasks.items()
        ]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.time, "sleep", lambda _seconds: None)


def tell(chapters: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
    told: list[str] = []
    Progress(Script(chapters), "f", lambda line: told.append(line.split("s  ", 1)[1])).follow()  # pyright: ignore[reportArgumentType]
    return told


def test_each_thing_is_told_once_and_in_order() -> None:
    half = {"environments-build-b00": "COMPLETED", "environments-build-b01": "RUNNING"}
    whole = half | {"environments-build-b01": "FAILED"}
    assert tell(
        [
            ("PENDING", {}),
            ("RUNNING", half),
            ("RUNNING", half),
            ("RUNNING", whole),
            ("FAILED", whole),
        ]
    ) == [
        "run run: Pending",
        "run run: Running",
        "environments-build: 1 completed, 1 failed",
        "run run: Failed",
    ]


def test_rows_left_running_by_a_killed_attempt_do_not_count() -> None:
    """The first attempt's rows stay Running for ever."""
    assert tell([("COMPLETED", {"scenarios-build-b00": "COMPLETED"})]) == [
        "scenarios-build: 1 completed",
        "run run: Completed",
    ]


def test_a_run_that_waits_for_batches_is_not_said_to_lack_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Waiting(Script):
        def get(self, path: str) -> Any:
            found = super().get(path)
            if found["state_type"] != "SCHEDULED":
                return found
            return found | {
                "state_name": "AwaitingBatch",
                "state": {"message": "6 items wait for 1 batch"},
            }

    monkeypatch.setattr(progress, "SILENCE", -1.0)
    told: list[str] = []
    script = Waiting([("SCHEDULED", {}), ("SCHEDULED", {}), ("COMPLETED", {})])
    Progress(script, "f", lambda line: told.append(line.split("s  ", 1)[1])).follow()  # pyright: ignore[reportArgumentType]
    assert told == ["run run: AwaitingBatch. 6 items wait for 1 batch", "run run: Completed"]
