"""Polls of workers are held while nothing happens, and none is held past what it waits for."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prefect.server.api import server as prefect_server

from flows.local.guard import Message, Receive, Send
from flows.local.polls import _POLL, _READS, PollHold  # pyright: ignore[reportPrivateUsage]

POLL = "/api/work_pools/envmill/get_scheduled_flow_runs"
ORDER = "/api/deployments/1/create_flow_run"
HOLD = 0.6
SOON = HOLD / 3


@dataclass
class Prefect:
    """Notes what reaches it."""

    bodies: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = (await receive()).get("body", b"")
        length = dict(scope["headers"]).get(b"content-length", b"0")
        assert int(length) == len(body)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"[]"})


def run(work: Callable[[PollHold, Prefect], Awaitable[None]], due: datetime | None = None) -> None:
    async def find_due() -> datetime | None:
        return due

    async def main() -> None:
        prefect = Prefect()
        await work(PollHold(prefect, find_due, hold=HOLD, lively=0.0), prefect)

    asyncio.run(main())


async def ask(app: Any, path: str, body: bytes = b"", hang_up: float = 60) -> float:
    """Seconds until the answer."""
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            await asyncio.sleep(hang_up)
            return {"type": "http.disconnect"}
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None: ...

    began = time.monotonic()
    headers = [(b"content-length", str(len(body)).encode())]
    await app({"type": "http", "method": "POST", "path": path, "headers": headers}, receive, send)
    return time.monotonic() - began


def test_a_poll_of_a_server_at_rest_is_held() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        assert HOLD <= await ask(app, POLL) < 3 * HOLD
        assert len(prefect.bodies) == 1

    run(work)


def test_an_order_lets_the_poll_pass_at_once_and_it_asks_for_what_is_due_now() -> None:
    asked = datetime.now(UTC)

    async def work(app: PollHold, prefect: Prefect) -> None:
        body = json.dumps({"scheduled_before": asked.isoformat(), "work_queue_names": []}).encode()
        poll = asyncio.create_task(ask(app, POLL, body))
        await asyncio.sleep(SOON)
        await ask(app, ORDER)
        ordered = datetime.now(UTC)
        assert await poll < HOLD
        told = json.loads(prefect.bodies[-1])
        assert datetime.fromisoformat(told["scheduled_before"]) >= ordered - timedelta(seconds=0.1)
        assert told["work_queue_names"] == []

    run(work)


def test_after_a_change_polls_pass_for_a_while() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        app.lively = 10.0
        await ask(app, ORDER)
        assert await ask(app, POLL) < SOON

    run(work)


@pytest.mark.parametrize("seconds", [-100.0, 0.0, 1.1])
def test_a_run_whose_time_comes_is_not_late(seconds: float) -> None:
    """One that was due long ago waits for its place or its pool: it is asked for as before."""

    async def work(app: PollHold, prefect: Prefect) -> None:
        assert await ask(app, POLL) < SOON + 0.2

    run(work, datetime.now(UTC) + timedelta(seconds=seconds))


def test_a_run_far_ahead_holds_no_longer_than_the_bound() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        assert HOLD <= await ask(app, POLL) < 3 * HOLD

    run(work, datetime.now(UTC) + timedelta(hours=8))


def test_what_only_reads_wakes_nobody() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        poll = asyncio.create_task(ask(app, POLL))
        await asyncio.sleep(0)
        for path in (
            "/api/flow_runs/filter",
            "/api/logs/",
            "/api/work_pools/envmill/workers/heartbeat",
        ):
            await ask(app, path)
        assert await poll >= HOLD

    run(work)


def test_a_worker_that_hangs_up_leaves_nothing_waiting() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        assert await ask(app, POLL, hang_up=SOON) < HOLD
        assert not prefect.bodies
        await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == 1

    run(work)


def test_a_body_that_is_no_question_goes_on_as_it_is() -> None:
    async def work(app: PollHold, prefect: Prefect) -> None:
        for body in (b"", b"[1]", b"{", b'{"scheduled_before": null}'):
            await ask(app, POLL, body)
        assert prefect.bodies == [b"", b"[1]", b"{", b'{"scheduled_before": null}']

    run(work)


@pytest.mark.long
def test_every_way_to_make_a_run_due_is_a_change() -> None:
    """Prefect's own routes: what is left out of the list of reads counts as a change, and no route of these is in it."""
    paths = list_paths()
    assert any(_POLL.fullmatch(path) for path in paths)
    changes = {path for path in paths if not _READS.fullmatch(path.rstrip("/"))}
    for path in (
        "/api/flow_runs/",
        "/api/flow_runs/1/set_state",
        "/api/flow_runs/1/resume",
        "/api/flow_runs/bulk_set_state",
        "/api/deployments/",
        "/api/deployments/1/create_flow_run",
        "/api/deployments/1/create_flow_run/bulk",
        "/api/deployments/1/schedule",
        "/api/deployments/1/resume_deployment",
        "/api/deployments/1/schedules",
        "/api/work_pools/1",
        "/api/work_pools/1/queues/1",
    ):
        assert path in changes, sorted(changes)


def list_paths() -> set[str]:
    """Paths of what changes something, with `1` for each name."""
    import re

    app: Any = prefect_server.create_api_app()
    return {
        "/api" + re.sub(r"\{[^}]*\}", "1", path)
        for path, ways in app.openapi()["paths"].items()
        if set(ways) & {"post", "put", "patch", "delete"}
    }
