"""Texts made into vectors: chunked, each text once, and, where a served model makes them, through the door like any other call.

texts ─► each once ─► chunks ─► lexical, minilm: computed here
                            └─► endpoint: door (limits, budget, journal, reuse) ─► vectors as the reply of a ledger row
"""

import asyncio
import base64
import binascii
import struct
from collections.abc import Sequence

from envmill.errors import Outage
from envmill.lake.journal import Journal
from envmill.models.base import Completion, Message, Request, Spent
from envmill.models.embedders import open_embedder
from envmill.models.embedders.base import Embedder, Embedding, Vector
from envmill.models.embedders.endpoint import EndpointEmbedder
from envmill.models.gateway import CallPolicy, Gateway
from envmill.models.prompt import Prompt
from envmill.settings import Settings
from schemas.ledger import ModelCall

_PROMPT = Prompt("embed", "", "")
"""What the ledger calls these calls; texts are sent as they are."""


class Embeddings:
    """The seat of the embedder."""

    def __init__(self, embedder: Embedder, door: Gateway | None = None) -> None:
        """With a door for an embedder that is paid for."""
        self.label = embedder.label
        self._embedder, self._door = embedder, door

    async def embed(self, texts: Sequence[str], step: str = "", subject: str = "", spent: Spent | None = None) -> list[Embedding]:
        """One embedding per text, in order. The label belongs into every row that rests on one."""
        once = [text for text in dict.fromkeys(texts) if text.strip()]
        size = self._embedder.most_texts
        chunks = [once[start : start + size] for start in range(0, len(once), size)]
        placed = await asyncio.gather(*(self._place(chunk, step, subject, spent or Spent()) for chunk in chunks))
        vectors = dict(zip(once, (vector for part in placed for vector in part), strict=True))
        return [Embedding(self.label, vectors.get(text, ())) for text in texts]

    async def close(self) -> None:
        """Give back the embedder's connections."""
        await self._embedder.close()

    async def _place(self, chunk: Sequence[str], step: str, subject: str, spent: Spent) -> Sequence[Vector]:
        if self._door is None:
            return (await self._embedder.place(chunk)).vectors
        messages = tuple(Message("user", text) for text in chunk)
        request = Request(_PROMPT, list(chunk), messages, None, self._door.seed, 0, step, subject)
        heard = await self._door.complete(request, spent)
        return unpack(heard.completion.text, len(chunk))


class EmbedderProvider:
    """A served embedder as the door sees it: a provider whose reply is vectors."""

    def __init__(self, embedder: EndpointEmbedder) -> None:
        self.name, self.model, self._embedder = embedder.name, embedder.model, embedder

    async def complete(self, request: Request) -> Completion:
        placed = await self._embedder.place([message.text for message in request.messages])
        return Completion(pack(placed.vectors), usage=placed.usage)

    async def close(self) -> None:
        await self._embedder.close()


def open_embeddings(
    text: str, settings: Settings, journal: Journal, known: dict[tuple[str, int], ModelCall], discipline: CallPolicy
) -> Embeddings:
    """The embedder of a run; the seed stays out, since the same text has the same place under every seed."""
    embedder = open_embedder(text, settings)
    if not isinstance(embedder, EndpointEmbedder):
        return Embeddings(embedder)
    return Embeddings(embedder, Gateway(EmbedderProvider(embedder), journal, known, 0, discipline=discipline))


def pack(vectors: Sequence[Vector]) -> str:
    """Vectors as text: 4 bytes a number, base64."""
    return base64.b64encode(b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in vectors)).decode()


def unpack(text: str, count: int) -> list[Vector]:
    """The vectors of a text that holds so many."""
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        content = b""
    width, rest = divmod(len(content), 4 * count)
    if not width or rest:
        raise Outage(
            f"A row of the ledger was to hold {count} vectors and does not. Delete its journal or start a run that does not reuse it."
        )
    return [struct.unpack_from(f"<{width}f", content, 4 * width * index) for index in range(count)]
