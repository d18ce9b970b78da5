"""A run's batches at one carrier, for tests to open, serve and count."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from envmill.base.settings import Endpoint, Secret
from envmill.lake.coordination import FolderCoordinator, hold
from envmill.lake.journal import Journal, read_calls
from envmill.lake.stores.local import LocalStore
from envmill.models.batch import Batch
from envmill.models.batches import CARRIERS, DIALECTS
from envmill.models.batches.base import Carrier
from envmill.models.batches.slips import Slips
from envmill.models.caller import Retries
from envmill.models.gateway import CallPolicy, Gateway
from tests.models.calling import GOOD, KEY, PROMPT, Answer, Question
from tests.models.vendors.launch import Loopback

WORDS = ("ant", "bee", "cat", "dog", "elk", "fox")
KINDS = ("openai", "anthropic", "lines")


@dataclass
class Field:
    """One run's batches at one carrier, opened again and again as processes do."""

    kind: str
    folder: Path
    vendors: Loopback
    key: str = KEY

    @property
    def lines(self) -> Path:
        return self.folder / "lines"

    def make_carrier(self) -> Carrier:
        root = self.vendors.openai if self.kind == "openai" else self.vendors.anthropic
        return CARRIERS[self.kind](Endpoint(root, Secret(self.key), "KEY"), self.lines)

    @property
    def slips(self) -> Slips:
        return Slips(LocalStore(str(self.folder / "lake")), "r1")

    def make(self) -> Batch:
        return Batch(
            self.make_carrier(),
            DIALECTS[self.kind](),
            "m",
            self.slips,
            partial(hold, FolderCoordinator(self.folder / "coordination"), "batches"),
        )

    @asynccontextmanager
    async def door(self) -> AsyncGenerator[Gateway]:
        """A process of the run."""
        provider, journal = self.make(), Journal(self.folder / "journal")
        known = {
            (call.request, call.sample): call
            for call in read_calls(self.folder / "journal")
            if call.answers
        }
        try:
            yield Gateway(
                provider, journal, known, 1, discipline=CallPolicy(retries=Retries((0.01,), 5.0))
            )
        finally:
            await provider.close()
            await journal.close()

    async def run(self, *words: str) -> dict[str, Any]:
        """One process: ask everything, hand in; word → what came of it."""
        async with self.door() as door:
            asked = [
                door.open_session("s", word).ask(PROMPT, Question(word=word), Answer)
                for word in words or WORDS
            ]
            ended = await asyncio.gather(*asked, return_exceptions=True)
            assert isinstance(door.provider, Batch)
            await door.provider.hand_in()
        return dict(zip(words or WORDS, ended, strict=True))

    def serve(self, *spare: str, status: int = 200, times: int = 1) -> None:
        """An offline server goes over the files, the vendors' batches are done by themselves."""
        for path in self.lines.glob("*.in.jsonl"):
            out = path.with_name(path.name.replace(".in.", ".out."))
            if not out.exists():
                rows = [json.loads(line) for line in path.read_text().splitlines()]
                out.write_text(
                    "".join(
                        render_answer(row, status)
                        for row in rows
                        if not any(f"is {word}?" in str(row) for word in spare)
                    )
                )

    def asked(self) -> Counter[str]:
        """Word → how often it was sent off."""
        sent: Counter[str] = Counter()
        bodies = [path.read_text() for path in self.lines.glob("*.in.jsonl")]
        bodies += [
            str(one["body"])
            for one in self.vendors.requests()
            if one["path"].endswith(("/files", "/messages/batches")) and one["method"] == "POST"
        ]
        for body in bodies:
            sent.update(
                {
                    word: body.count(f"How long is {word}?")
                    for word in WORDS
                    if f"How long is {word}?" in body
                }
            )
        return sent


def render_answer(row: dict[str, Any], status: int = 200) -> str:
    """A line of a file of replies."""
    message = {"role": "assistant", "content": GOOD}
    body = {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    response = {
        "status_code": status,
        "request_id": "r",
        "body": body if status == 200 else {"error": {"message": "scripted"}},
    }
    return (
        json.dumps({"id": "x", "custom_id": row["custom_id"], "response": response, "error": None})
        + "\n"
    )


def kinds_of(ended: dict[str, Any]) -> Counter[str]:
    return Counter(type(one).__name__ for one in ended.values())
