"""A recording played back: the model calls of a past run, found again by request and sample."""

from collections.abc import Iterable

from envmill.errors import SettingsError
from envmill.models.base import Completion, Request
from schemas.ledger import ModelCall


class Replay:
    """Strict playback; a question that was never recorded says nothing about the candidate."""

    name = "replay"

    def __init__(self, calls: Iterable[ModelCall]) -> None:
        recorded = [call for call in calls if call.outcome != "outage" and not call.reused]
        self._replies = {(call.request, call.sample): call for call in recorded}
        models = {call.model for call in recorded}
        self.model = models.pop() if len(models) == 1 else "recording"

    async def complete(self, request: Request) -> Completion:
        call = self._replies.get((request.key(self.model), request.sample))
        if call is None:
            raise SettingsError(
                f"The recording holds no reply to {request.prompt.name} for {request.subject}. "
                "Play it back with the prompts, seed and settings it was made with."
            )
        return Completion(call.reply, 0, 0, 0.0)

    async def close(self) -> None:
        return
