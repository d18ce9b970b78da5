"""An author who has written everything already: each question is answered by what was recorded for
its item, prompt and slot.

A question that nobody recorded, or one more than there are versions, is an error that names the
lane. Prompts, ids and seeds may change. Only a rewording may be missing: it is tried or not by what
became of those before it, and without it the words stay.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envmill.agents.users.wordings import list_wordings
from envmill.base.errors import BadReply
from envmill.models.base import Completion, Provider, Request, Role, Spent
from envmill.models.parse import ParsedCompletion, parse_completion
from envmill.models.session import ModelSession
from schemas.base import canonical_json
from schemas.scenario import UserContract
from tests.real_authors.corpus import Item
from tests.real_authors.judgements import find_judgement


class NotRecorded(Exception):
    """A question to which the recording holds no (further) reply."""

    def __init__(self, item: Item, stem: str, version: int, request: Request) -> None:
        self.stem, self.version = stem, version
        self.complaint = request.messages[-1].text
        """What the author is told: of a repair, what was wrong."""
        super().__init__(
            f"{item.id}: no version {version} of {stem} was recorded. Asked: "
            f"{self.complaint[-2000:]}"
        )


@dataclass
class Author:
    """One item's author, as a provider."""

    item: Item
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """Slot → the recorded version to answer with in place of the last one."""
    name: str = "recorded"
    model: str = "recorded"
    asked: Counter[str] = field(default_factory=Counter[str])

    async def complete(self, request: Request) -> Completion:
        reply = (
            find_judgement(self.item, request) if request.role == "judge" else self._find(request)
        )
        return Completion(canonical_json(reply))

    async def close(self) -> None:
        return

    def _find(self, request: Request) -> Any:
        stem = name_stem(request)
        version = self.asked[stem]
        self.asked[stem] += 1
        if request.prompt.name == "reword":
            reply = self.item.read(
                f"mended/{stem}" if self._was_sent_back(str(request.inputs["number"])) else stem
            )
        elif version and self.given:
            reply = None  # how far an older version comes by itself
        else:
            reply = self.item.read(
                f"mended/{stem}.{version - 1}" if version else self.given.get(stem, stem)
            )
        if reply is None and request.prompt.name == "reword":
            raise BadReply(f"{self.item.id}: {stem} was not recorded.")
        if reply is None:
            raise NotRecorded(self.item, stem, version, request)
        return reply if request.prompt.name == "reword" else _add_questions(reply)

    def _was_sent_back(self, number: str) -> bool:
        """Whether a scenario was written anew: what was said of its first version is not said of
        this one."""
        return any(
            times > 1 for stem, times in self.asked.items() if stem.split(".")[1:] == [number]
        )


@dataclass
class Desk:
    """Stands where the door stands: every role is the author's, and nothing is journalled."""

    author: Author
    seed: int

    def open_session(self, subject: str) -> ModelSession:
        return ModelSession(self, "corpus", subject)

    def provider_of(self, role: Role) -> Provider:
        return self.author

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        return parse_completion(await self.author.complete(request), request.reply)


def _add_questions(reply: Any) -> Any:
    """The scenarios were recorded before their prompts asked for questions: each hidden fact gets
    five that are made of its name."""
    if not isinstance(reply, dict) or not reply.get("hidden") or "wordings" in reply:
        return reply
    contract = UserContract(opening="", facts=reply["facts"])
    return reply | {
        "wordings": {
            name: list_wordings(contract, name)
            for name in reply["hidden"]
            if name in reply["facts"]
        }
    }


def name_stem(request: Request) -> str:
    """The reply that answers a request: prompt and slot."""
    return ".".join((request.prompt.name, *_find_slot(request.inputs)))


def _find_slot(inputs: Any) -> list[str]:
    """Of the questions that are asked many times of an item, which one this is: a tool's, or the
    n-th scenario's."""
    tool, number = inputs.get("tool"), inputs.get("number")
    if isinstance(tool, dict):
        return [tool["name"]]
    return (
        []
        if number is None
        else [str(number), *([inputs["operator"]] if "operator" in inputs else [])]
    )
