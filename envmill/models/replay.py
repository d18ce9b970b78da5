"""A recording played back: strictly, by request and sample, or by order, whatever the requests have
become meanwhile.

strict    request, sample                ─► its reply, or an error
by order  step, prompt ─► subject's lane ─► its next reply; a subject nobody recorded takes the first lane that is free
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from envmill.base.errors import SettingsError
from envmill.models.base import Completion, Provider, Request, Role
from envmill.models.ledger_row import recall
from schemas.ledger import ModelCall

NAME = "replay"


def order_calls(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Each answered question once, in the order the answers came."""
    answered = {(call.request, call.sample): call for call in calls if call.answers}
    return sorted(answered.values(), key=lambda call: (call.asked_at, call.ordinal, call.sample))


def _of_role(calls: Iterable[ModelCall], role: Role) -> tuple[list[ModelCall], str]:
    """A role's calls and its recorded model, so that a request's hash and a record's origin are the
    same again."""
    recorded = [call for call in order_calls(calls) if call.role == role]
    models = {call.model for call in recorded}
    return recorded, models.pop() if len(models) == 1 else "recording"


class Replay:
    """Strict playback of one role; a question that was never recorded says nothing about the
    candidate."""

    name = NAME

    def __init__(self, calls: Iterable[ModelCall], role: Role = "author") -> None:
        recorded, self.model = _of_role(calls, role)
        self._replies = {(call.request, call.sample): call for call in recorded}

    async def complete(self, request: Request) -> Completion:
        if (call := self._replies.get((request.key(self.model), request.sample))) is not None:
            return recall(call)
        raise SettingsError(
            f"The recording holds no reply to {request.prompt.name} for {request.subject}. "
            "Play it back with the prompts, seed and settings it was made with, or by order."
        )

    async def close(self) -> None:
        return


@dataclass
class _Lane:
    """What one subject was told at one step by one prompt, in order."""

    subject: str
    replies: deque[ModelCall]
    taken_by: str = ""


class ByOrder:
    """Playback for prompts that were edited since: the n-th question of a subject gets the n-th
    reply."""

    name = NAME

    def __init__(
        self, calls: Iterable[ModelCall], given: Iterable[ModelCall] = (), role: Role = "author"
    ) -> None:
        """`given`: what this run was told already, by a process before this one."""
        recorded, self.model = _of_role(calls, role)
        self._lanes: dict[tuple[str, str], list[_Lane]] = defaultdict(list)
        for call in recorded:
            self._lane_of(call).replies.append(call)
        for call in _of_role(given, role)[0]:
            self._skip(call)

    async def complete(self, request: Request) -> Completion:
        lane = self._take(self._lanes[request.step, request.prompt.name], request.subject)
        if lane is None or not lane.replies:
            raise SettingsError(
                f"The recording has no further reply to {request.prompt.name} at "
                f"{request.step or 'no step'} for {request.subject}. "
                "It was made by a smaller run, or one that needed fewer repairs."
            )
        return recall(lane.replies.popleft())

    async def close(self) -> None:
        return

    def _lane_of(self, call: ModelCall) -> _Lane:
        lanes = self._lanes[call.step, call.prompt]
        lane = next((lane for lane in lanes if lane.subject == call.subject), None)
        if lane is None:
            lanes.append(lane := _Lane(call.subject, deque()))
        return lane

    @staticmethod
    def _take(lanes: list[_Lane], subject: str) -> _Lane | None:
        """The lane a subject is on, its own from the recording, or the first that is free."""
        taken = next((lane for lane in lanes if lane.taken_by == subject), None)
        own = next((lane for lane in lanes if lane.subject == subject and not lane.taken_by), None)
        lane = taken or own or next((lane for lane in lanes if not lane.taken_by), None)
        if lane is not None:
            lane.taken_by = subject
        return lane

    def _skip(self, call: ModelCall) -> None:
        """A reply this run has had: whoever had it is on the lane that holds it next."""
        for lane in self._lanes[call.step, call.prompt]:
            if (
                lane.taken_by in ("", call.subject)
                and lane.replies
                and lane.replies[0].reply == call.reply
            ):
                lane.taken_by = call.subject
                lane.replies.popleft()
                return


def open_playback(
    calls: Iterable[ModelCall], given: Iterable[ModelCall], by_order: bool
) -> dict[Role, Provider]:
    """Every role that was recorded, under its own model: the same question may have been put to two
    of them."""
    recorded, told = list(calls), list(given)
    roles: set[Role] = {"author", *(call.role for call in recorded)}
    return {
        role: ByOrder(recorded, told, role) if by_order else Replay(recorded, role)
        for role in roles
    }
