"""`POST /embeddings`: OpenAI's, and that of every compatible server."""

import math
from collections.abc import Sequence

from envmill.errors import Outage
from envmill.models.base import Usage
from envmill.models.connection import ApiConnection
from envmill.models.embedders.base import EmbeddedTexts, Vector
from envmill.models.shape import take_count, take_number, take_object, take_objects
from envmill.models.spec import Spec
from schemas.base import Json, is_array


class EndpointEmbedder:
    """One model at one server."""

    paid = True
    most_texts = 128
    """Below what any server takes; larger ones are no quicker."""

    def __init__(self, spec: Spec, connection: ApiConnection) -> None:
        self.name, self.label = spec.provider, str(spec)
        self.model = f"{spec.model}@{spec.endpoint}" if spec.endpoint else spec.model
        self._asked, self._connection = spec.model, connection

    async def place(self, texts: Sequence[str]) -> EmbeddedTexts:
        """Plain numbers are asked for: not every server knows the SDK's base64."""
        body = {"model": self._asked, "input": list(texts), "encoding_format": "float"}
        answer = await self._connection.post("/embeddings", body, self.label)
        usage = take_count(take_object(answer, "usage").get("prompt_tokens"))
        return EmbeddedTexts(_read_vectors(answer.get("data"), len(texts), self.label), Usage(input=usage))

    async def close(self) -> None:
        await self._connection.close()


def _read_vectors(data: Json, wanted: int, label: str) -> tuple[Vector, ...]:
    """One per text, by its index; a reply that lacks one is no reply, since the others might be another text's."""
    found = {take_count(one.get("index")): _read_vector(one.get("embedding")) for one in take_objects(data)}
    vectors = [found[index] for index in range(wanted) if found.get(index)]
    if len(found) != wanted or len(vectors) != wanted or len({len(vector) for vector in vectors}) > 1:
        raise Outage(
            f"{label} gave {len(vectors)} usable vectors for {wanted} texts. Look whether it is an embedding model, then run again."
        )
    return tuple(vectors)


def _read_vector(value: Json) -> Vector:
    """Made of length 1; empty when it is none."""
    parts = [take_number(part) for part in value] if is_array(value) else []
    numbers = [part for part in parts if part is not None and math.isfinite(part)]
    length = math.sqrt(sum(part * part for part in numbers))
    return tuple(part / length for part in numbers) if length and len(numbers) == len(parts) else ()
