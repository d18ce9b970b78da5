"""A thread: the conversation from one prompt, which a complaint about its last reply continues.

prompt ─► reply ─► complaint ─► reply ─► complaint …        what was sent is never changed
"""

from dataclasses import dataclass, field

from envmill.models.base import Message
from envmill.models.lint import list_slots
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from envmill.models.rendering import render_slot
from schemas.base import Contract, Json, canonical_json

_OWN = ("brief",)
"""Inputs that only change by what the author itself replied."""


@dataclass(frozen=True)
class Thread:
    """One conversation that ends with a reply."""

    messages: tuple[Message, ...]
    inputs: Json
    """What the author was told last, slot by slot."""

    def go_on(
        self, prompt: Prompt, inputs: Contract, complaint: str, stands: Contract | None = None
    ) -> tuple[Message, ...]:
        """The conversation with a complaint at its end, and with everything that changed since:
        what the prompt shows, what was replied."""
        told, shown = inputs.model_dump(mode="json"), list_slots(prompt.text) - set(_OWN)
        new = [
            name for name, value in told.items() if name in shown and self.inputs.get(name) != value
        ]
        changed = [
            f"`{name}` has changed since. It is now:\n\n{render_slot(inputs, name)}" for name in new
        ]
        if stands is not None and parse_reply(self.messages[-1].text, type(stands)) != stands:
            changed.insert(
                0,
                "Your reply was changed since. It is now:\n\n"
                f"{canonical_json(stands.model_dump(mode='json'))}",
            )
        return (*self.messages, Message("user", "\n\n".join([complaint, *changed])))


@dataclass
class Threads:
    """The conversations of one subject: prompt and part → thread."""

    _kept: dict[tuple[str, str], Thread] = field(default_factory=dict[tuple[str, str], Thread])

    def find(self, prompt: Prompt, part: str) -> Thread | None:
        return self._kept.get((prompt.name, part))

    def keep(self, prompt: Prompt, part: str, thread: Thread) -> None:
        """In place of the shorter one."""
        self._kept[prompt.name, part] = thread

    def list_parts(self, prompt: Prompt) -> list[str]:
        return [part for name, part in self._kept if name == prompt.name]
