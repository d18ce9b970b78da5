"""Today's prompts for the recorded tasks.

An item's replies are replayed through generate and build, so that each prompt is given what the
real line gives it: the same environment, rows, tools and program, written by the same author. What
is asked before there is an item is rendered from the slots that were filled then.
"""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from envmill.models.base import Completion, Request
from envmill.models.dialect import ModelTerms, pick_form
from envmill.models.structured import narrow
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from flows.cli.prompt import collect_prompts
from schemas.base import Json
from tests.bench.prompt_tasks.sent import Sent
from tests.real_authors.author import Author, name_stem
from tests.real_authors.corpus import list_items
from tests.real_authors.making import make


@dataclass(frozen=True)
class Asked:
    """A prompt as it is sent today."""

    text: str
    schema: Json
    """Reply schema that an OpenAI-compatible server enforces; None where it stands in the text
    alone."""


@dataclass
class Listener(Author):
    """The recorded author, who keeps the first request of each task."""

    heard: dict[str, Asked] = field(default_factory=dict[str, Asked])

    async def complete(self, request: Request) -> Completion:
        if request.role == "author":
            self.heard.setdefault(
                name_stem(request),
                Asked(request.messages[0].text, pick_form(request, ModelTerms())[1]),
            )
        return await super().complete(request)


def render_today(tasks: Sequence[Sent]) -> dict[str, Asked]:
    """Id of a task → its prompt today; a task that the line does not ask about today is missing."""
    mined = [sent for sent in tasks if sent.item == "mined"]
    return {sent.id: _render_mined(sent, mined) for sent in mined} | asyncio.run(
        _replay({sent.item for sent in tasks})
    )


async def _replay(names: set[str]) -> dict[str, Asked]:
    found: dict[str, Asked] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_sandbox(Settings.read({"ENVMILL_HOME": folder})) as sandbox:
            for item in (item for item in list_items() if item.name in names):
                author = Listener(item)
                await make(item, sandbox, author=author)
                found |= {f"{item.id}/{stem}": asked for stem, asked in author.heard.items()}
    return found


def _render_mined(sent: Sent, mined: Sequence[Sent]) -> Asked:
    prompt = LABEL if sent.kind == "label" else collect_prompts()[f"{sent.recipe}/{sent.kind}"][1]
    assert prompt.takes is not None
    assert prompt.gives is not None
    told = {
        name: value if name == "text" else json.loads(value) for name, value in sent.inputs.items()
    }
    if sent.kind == "label":
        told["others"] = _list_cards(sent, mined)
    inputs = prompt.takes.model_validate(told)
    return Asked(prompt.render(inputs, prompt.gives), narrow(prompt.gives))


def _list_cards(sent: Sent, mined: Sequence[Sent]) -> list[Json]:
    """The tools of a document, all of them and in one order: what today's line shows to each
    call."""
    document = [task for task in mined if task.stem.split(".")[:2] == sent.stem.split(".")[:2]]
    return [
        json.loads(task.inputs["tool"]) for task in sorted(document, key=lambda task: task.stem)
    ]
