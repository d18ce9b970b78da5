"""The door as one subject sees it: what it asks, repaired within bounds, and what that costs.

reply ─► usable ──────────────────────────────────────────────► record
      ├► cut off ─────► go on from there, at most 3 times ──┐
      ├► refused, held back, empty ─► ask afresh, once ─────┼─► BadReply, saying what was wrong
      └► wrong ───────► show it what was wrong, twice ──────┘
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, Protocol, TypeVar

from envmill.base.errors import BadReply
from envmill.models.base import (
    Completion,
    Message,
    Provider,
    Request,
    Role,
    Sampling,
    Spent,
    ToolSpec,
)
from envmill.models.continuation import join
from envmill.models.parse import ParsedCompletion, parse_reply
from envmill.models.prompt import Prompt
from envmill.models.thread import Thread, Threads
from schemas.base import Contract

C = TypeVar("C", bound=Contract)

Way = Literal["correct", "continue", "afresh"]
"""What is done about an unusable reply."""

_BOUNDS: dict[Way, int] = {"correct": 2, "continue": 3, "afresh": 1}
_DEFAULT = Sampling()
_STRIDE = 1 + sum(_BOUNDS.values())
"""Sample numbers that one question may use up, so that the repairs of one sample are never
another's first answer."""


class Asker(Protocol):
    """What an account needs of the door."""

    seed: int

    def provider_of(self, role: Role) -> Provider:
        """Who plays a role."""
        ...

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        """One request, journalled and read."""
        ...


class ModelSession:
    """What one subject of one step asks."""

    def __init__(self, door: Asker, step: str, subject: str) -> None:
        self.spent = Spent()
        self.provider, self.model = (
            door.provider_of("author").name,
            door.provider_of("author").model,
        )
        self._door, self._step, self._subject = door, step, subject
        self._first = 0
        self._asked: Prompt | None = None
        self._threads, self._warning = Threads(), ""

    @property
    def last_asked(self) -> Prompt | None:
        """The prompt that a record was last got with."""
        return self._asked

    def afresh(self, number: int, warning: str = "") -> "ModelSession":
        """The same subject with no conversations yet: each question is asked for another sample.
        The cost is added to this account.

        `warning` says why earlier attempts failed; it follows every prompt that begins a conversation.
        """
        again = copy(self)
        again._first, again._warning, again._threads = number, warning, Threads()
        return again

    def list_parts(self, prompt: Prompt) -> list[str]:
        """Parts whose conversation from this prompt can be continued."""
        return self._threads.list_parts(prompt)

    def name_model(self, role: Role) -> str:
        """Who plays a role, as its server calls it."""
        return self._door.provider_of(role).model

    def name_provider(self, role: Role) -> str:
        """Whose model that is."""
        return self._door.provider_of(role).name

    async def ask(
        self,
        prompt: Prompt,
        inputs: Contract,
        reply: type[C],
        *,
        part: str = "",
        complaint: str = "",
        stands: Contract | None = None,
        role: Role = "author",
        sampling: Sampling = _DEFAULT,
        sample: int = 0,
    ) -> C:
        """A typed record; BadReply once bounded repair has not helped; Outage when nobody answers.

        With a `complaint` the conversation about the last reply to this prompt goes on: what was
        sent stays byte for byte, so that a
        provider's prompt cache applies. `part` tells several conversations from one prompt apart,
        for example one per tool. `stands` is
        the version complained about: where it is not what the last reply says, since a debugger
        changed it, it is quoted.
        """
        messages = self._open(prompt, inputs, reply, part, complaint, stands)
        first = self._request(
            prompt,
            inputs,
            messages,
            reply=reply,
            role=role,
            sampling=sampling,
            sample=(self._first + sample) * _STRIDE,
        )
        repair = _Repair(replace(first, repair=bool(complaint or self._warning)), reply)
        while True:
            heard = await self._door.complete(repair.request, self.spent)
            record = repair.take(heard)
            if record is not None:
                self._asked = prompt
                if role == "author":
                    self._threads.keep(
                        prompt,
                        part,
                        Thread(
                            (*messages, Message("assistant", repair.said)),
                            inputs.model_dump(mode="json"),
                        ),
                    )
                return record
            if not repair.go_on():
                raise BadReply(
                    f"{prompt.name} for {self._subject}: no usable reply after {repair.count} "
                    f"repairs. {repair.complaint}\n"
                    "Look at its replies in model_calls; correct the prompt, or ask another model.",
                    stop=repair.stop,
                    complaint=repair.complaint,
                )

    def _open(
        self,
        prompt: Prompt,
        inputs: Contract,
        reply: type[Contract],
        part: str,
        complaint: str,
        stands: Contract | None,
    ) -> tuple[Message, ...]:
        """The conversation up to the message that is to be answered."""
        if complaint and (thread := self._threads.find(prompt, part)) is not None:
            return thread.go_on(prompt, inputs, complaint, stands)
        told = [prompt.render(inputs, reply), self._warning, complaint]
        return (
            (Message("user", "\n\n".join(text.rstrip("\n") for text in told if text)),)
            if any(told[1:])
            else (Message("user", told[0]),)
        )

    async def converse(
        self,
        prompt: Prompt,
        inputs: Contract,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        role: Role = "policy",
        sampling: Sampling = _DEFAULT,
        sample: int = 0,
    ) -> Completion:
        """The next turn of a conversation as it came. A refusal, a cut or a malformed call is the
        model's turn too, and not repaired."""
        request = self._request(
            prompt,
            inputs,
            tuple(messages),
            tools=tuple(tools),
            role=role,
            sampling=sampling,
            sample=sample,
        )
        return (await self._door.complete(request, self.spent)).completion

    def _request(
        self,
        prompt: Prompt,
        inputs: Contract,
        messages: tuple[Message, ...],
        *,
        role: Role,
        sampling: Sampling,
        sample: int,
        reply: type[Contract] | None = None,
        tools: tuple[ToolSpec, ...] = (),
    ) -> Request:
        return Request(
            prompt,
            inputs.model_dump(mode="json"),
            messages,
            reply,
            self._door.seed,
            sample,
            self._step,
            self._subject,
            tools,
            sampling,
            role,
        )


@dataclass
class _Repair(Generic[C]):
    """One question on its way to a record."""

    request: Request
    reply: type[C]
    complaint: str = ""
    stop: str = "end"
    count: int = 0
    _begun: str = ""
    """Text of the replies that were cut off, joined."""
    _last: Completion = field(default_factory=lambda: Completion(""))
    _left: dict[Way, int] = field(default_factory=_BOUNDS.copy)

    def __post_init__(self) -> None:
        self._asked = self.request.messages

    def take(self, heard: ParsedCompletion) -> C | None:
        """The record, if this completion is or completes one."""
        self._last, self.stop, self.complaint = (
            heard.completion,
            heard.completion.stop,
            heard.complaint,
        )
        if self._begun:  # a part may hold an object of its own that looks like the whole
            return self._take_joined()
        if isinstance(heard.record, self.reply):
            return heard.record
        if self.stop == "length":
            self._begun = self._last.text
        return None

    def _take_joined(self) -> C | None:
        """A part that goes on from the parts before it."""
        if self.stop in ("refusal", "filter"):
            return None
        self._begun = join(self._begun, self._last.text)
        parsed = parse_reply(self._begun, self.reply)
        if isinstance(parsed, str):
            self.complaint = (
                parsed
                if self.stop != "length"
                else f"The reply was cut off at its length limit. {parsed}"
            )
            return None
        return parsed

    def go_on(self) -> bool:
        """Prepare the next request; False when the bounds are reached."""
        way = self._choose()
        if self._left[way] < 1:
            return False
        self._left[way] -= 1
        self.count += 1
        messages = (
            self._continue()
            if way == "continue"
            else self._correct()
            if way == "correct"
            else self._asked
        )
        if way != "continue":
            self._begun = ""
        sample, enforced = self.request.sample + 1, way != "continue"
        mends = self.request.repair or way != "continue"
        self.request = replace(
            self.request,
            messages=messages,
            sample=sample,
            enforced=enforced,
            sampling=self._widen(),
            repair=mends,
        )
        return True

    def _choose(self) -> Way:
        if self.stop == "length" and self._begun.strip() and self._left["continue"]:
            return "continue"
        return (
            "afresh" if self.stop in ("refusal", "filter") or not self.said.strip() else "correct"
        )

    @property
    def said(self) -> str:
        """The reply so far, its parts joined."""
        return self._begun or self._last.text

    def _continue(self) -> tuple[Message, ...]:
        again = (
            "Your reply was cut off. Go on exactly where it ends, in the middle of a word if "
            "need be; repeat nothing, add nothing."
        )
        return (*self._asked, Message("assistant", self._begun), Message("user", again))

    def _correct(self) -> tuple[Message, ...]:
        again = (
            f"Your last reply could not be used. {self.complaint} Reply again with the whole "
            "JSON object."
        )
        return (*self._asked, Message("assistant", self.said), Message("user", again))

    def _widen(self) -> Sampling:
        """A limit of our own that was reached is doubled; a vendor's cannot be."""
        knobs = self.request.sampling
        return (
            replace(knobs, max_tokens=2 * knobs.max_tokens)
            if self.stop == "length" and knobs.max_tokens
            else knobs
        )


def name_judge(models: ModelSession) -> str:
    """Judge as its server calls it, so that a replay has the same one; the embedded judge is
    `offline`, whatever its mistake rate."""
    model = models.name_model("judge")
    return (
        "offline"
        if models.name_provider("judge") == "offline" or model.startswith("author/")
        else model
    )
