"""What happens to a run, written down as it happens."""

import uuid
from datetime import UTC, datetime
from typing import Literal

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from schemas.base import Json
from schemas.ledger import RunEvent


def note(
    lake: Lake,
    run: str,
    event: Literal["started", "budget", "pending", "finished", "failed"],
    detail: Json,
) -> None:
    """One file per event: nobody waits for anybody."""
    row = RunEvent(event=event, happened_at=datetime.now(UTC).isoformat(), detail=detail)
    lake.put(
        RunEvent,
        [row],
        f"{event}-{uuid.uuid4().hex}",
        Stamp(run, "run", "", 0, 1, "", row.happened_at),
    )
