"""Notifications: what a program tells an actor unasked, delivered when time passes.

notify(actor, text, at) ─► outbox ──advance──► notifications in the order of their time
"""

import datetime
from typing import Any, TypedDict

MAX_PENDING = 1000
"""Notifications that wait at once."""
MAX_TEXT = 2000
"""Characters of one."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Notification(TypedDict):
    """One message to an actor."""

    at: str
    actor: str
    text: str


class Outbox:
    """Notifications not delivered yet."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, int, str, str]] = []
        self._posted = 0

    def post(self, at: int, actor: str, text: str) -> None:
        """Have it delivered at a time (microseconds since 1970 UTC)."""
        if len(self._pending) >= MAX_PENDING:
            raise RuntimeError(f"more than {MAX_PENDING} notifications wait to be delivered")
        text = str(text).encode("utf-8", "replace").decode()
        self._posted += 1
        self._pending.append((at, self._posted, str(actor)[:80], text[:MAX_TEXT]))

    def mark(self) -> int:
        """A place to come back to."""
        return self._posted

    def revert(self, mark: int) -> None:
        """Take back what was posted since: a call that was refused tells nobody anything."""
        if self._posted != mark:
            self._pending = [entry for entry in self._pending if entry[1] <= mark]
            self._posted = mark

    def collect(self, until: int) -> list[Notification]:
        """Deliver what is due, in the order of time, then of posting."""
        due = sorted(entry for entry in self._pending if entry[0] <= until)
        self._pending = [entry for entry in self._pending if entry[0] > until]
        return [
            {"at": _render_time(at), "actor": actor, "text": text} for at, _, actor, text in due
        ]

    def snapshot(self) -> list[Any]:
        return [self._posted, *map(list, self._pending)]

    def restore(self, snapshot: list[Any]) -> None:
        self._posted = snapshot[0]
        self._pending = [(at, number, actor, text) for at, number, actor, text in snapshot[1:]]


def _render_time(at: int) -> str:
    return (_EPOCH + datetime.timedelta(microseconds=at)).isoformat()
