"""Holds the polls of workers at the server while nothing happens: an idle server answers six a minute.

poll ─► something changed lately, or a run is about to begin ─► Prefect
   └─► else held until a change, a run's time, or HOLD ─────────► Prefect

Prefect has no event that tells a worker of a new run. The guard sees every request that could make one.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from flows.local.guard import App, Message, Receive, Send

HOLD = 10.0
"""Seconds that a poll waits at most. Prefect calls a queue asleep after 60, and `envmill down` gives a server 15."""
LIVELY = 30.0
"""Seconds after a change in which polls pass: a run that waits for its place is planned ten seconds ahead again and again."""
MARGIN = 1.0
"""Seconds before a run's time at which polls pass again; PREFECT_WORKER_PREFETCH_SECONDS."""

_POLL = re.compile(r"/api/work_pools/[^/]+/get_scheduled_flow_runs")
_READS = re.compile(
    r"/api/(logs|artifacts|task_runs|events|ui|csrf-token|block_\w+)(/.*)?"
    r"|.*/(filter|count|history|paginate|lateness|heartbeat|get_runs|get_scheduled_flow_runs|concurrency_status|next)"
)
"""Requests other than GET that make no flow run due. What is not listed counts as a change, which costs a few polls."""

FindDue = Callable[[], Awaitable[datetime | None]]


@dataclass
class PollHold:
    """An ASGI application that holds polls back before another."""

    app: App
    find_due: FindDue
    """When the next scheduled run is to begin."""
    hold: float = HOLD
    lively: float = LIVELY
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _until: float = 0.0

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.lively

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
        elif _POLL.fullmatch(scope["path"]):
            await self._hold(scope, receive, send)
        else:
            try:
                await self.app(scope, receive, send)
            finally:
                if not _READS.fullmatch(scope["path"].rstrip("/")):
                    self._wake()

    def _wake(self) -> None:
        self._until = time.monotonic() + self.lively
        self._changed.set()

    async def _hold(self, scope: Message, receive: Receive, send: Send) -> None:
        body, whole = await _read(receive)
        if not whole:
            return  # the worker is gone
        began, gone = time.monotonic(), asyncio.ensure_future(receive())
        try:
            if await self._wait(gone):
                return
            await self._pass_on(scope, _postpone(body, time.monotonic() - began), gone, send)
        finally:
            gone.cancel()

    async def _wait(self, gone: asyncio.Future[Message]) -> bool:
        """Until a change, a run's time or the end of patience; True when the worker hung up meanwhile."""
        if time.monotonic() < self._until:
            return False
        # An event set before these lines would be lost; between them and the wait nothing else runs.
        due = await self.find_due()
        if time.monotonic() < self._until:
            return False
        self._changed.clear()
        seconds = (
            self.hold
            if due is None
            else min(self.hold, (due - datetime.now(UTC)).total_seconds() - MARGIN)
        )
        if seconds <= 0:
            return False
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait(
                (changed, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            changed.cancel()
        return gone.done()

    async def _pass_on(
        self, scope: Message, body: bytes, gone: asyncio.Future[Message], send: Send
    ) -> None:
        given = False

        async def receive() -> Message:
            nonlocal given
            if given:
                return await gone
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        headers = [
            (name, value) for name, value in scope["headers"] if name.lower() != b"content-length"
        ]
        await self.app(
            {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]},
            receive,
            send,
        )


async def _read(receive: Receive) -> tuple[bytes, bool]:
    """The body, and whether it came whole."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"", False
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts), True


def _postpone(body: bytes, seconds: float) -> bytes:
    """The same question, asked now: it names the time up to which runs are wanted."""
    try:
        asked = json.loads(body)
        until = datetime.fromisoformat(asked["scheduled_before"])
    except (ValueError, KeyError, TypeError):
        return body
    return json.dumps(
        {**asked, "scheduled_before": (until + timedelta(seconds=seconds)).isoformat()}
    ).encode()


async def find_next_run() -> datetime | None:
    """When the next scheduled flow run is to begin, by the server's records."""
    import sqlalchemy
    import sqlalchemy.exc
    from prefect.server.database import provide_database_interface
    from prefect.server.schemas.states import StateType

    records = provide_database_interface()
    earliest = sqlalchemy.func.min(records.FlowRun.next_scheduled_start_time)
    scheduled = records.FlowRun.state_type == StateType.SCHEDULED
    try:
        async with records.session_context() as session:
            answer = await session.execute(sqlalchemy.select(earliest).where(scheduled))
            return answer.scalar()
    except sqlalchemy.exc.SQLAlchemyError:
        return datetime.now(UTC)  # Prefect says what is wrong when it is asked
