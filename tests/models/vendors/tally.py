"""What was asked and what was answered to the end: the witness of every claim that nothing is paid
for twice."""

from collections import Counter
from typing import Any

from tests.models.vendors.conversation import Conversation
from tests.models.vendors.exchange import Asked

_KEPT = 20_000  # requests remembered whole; counts go on


class Tally:
    """Counts by conversation and seed, and the requests themselves."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.by_last: Counter[str] = Counter()
        self.in_flight = self.peak = self.connections = 0
        self.requests: list[dict[str, Any]] = []

    def begin(self, asked: Asked, conversation: Conversation | None) -> None:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        if conversation is not None:
            self.asked[conversation.digest] += 1
            self.by_last[conversation.last] += 1
        if len(self.requests) < _KEPT:
            form = asked.headers.get("content-type", "").startswith("multipart/")
            body = {"form": asked.body.decode("utf-8", "replace")} if form else asked.read()
            self.requests.append(
                {"method": asked.method, "path": asked.path, "headers": asked.headers, "body": body}
            )

    def end(self, conversation: Conversation | None, well: bool) -> None:
        """Well: a good answer was handed over whole."""
        self.in_flight -= 1
        if conversation is not None and well:
            self.answered[conversation.digest] += 1

    def render(self) -> dict[str, Any]:
        counts = {"asked": self.asked, "answered": self.answered, "by_last": self.by_last}
        return counts | {
            "peak": self.peak,
            "connections": self.connections,
            "total": self.asked.total(),
        }
