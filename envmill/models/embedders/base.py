"""What an embedder is: texts in, one vector of length 1 per text out, each labelled with what made it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from envmill.models.base import Usage

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Embedding:
    """One text's place. Vectors of different labels must never be compared."""

    label: str
    """What made it: embedder, model and version. It goes into every row that rests on this vector."""
    vector: Vector
    """Empty for a text that says nothing: it is like no other."""

    def similarity(self, other: "Embedding") -> float:
        """Cosine, from -1 to 1."""
        if not (self.vector and other.vector) and self.label == other.label:
            return 0.0
        if self.label != other.label or len(self.vector) != len(other.vector):
            raise ValueError(f"{self.label} and {other.label} place texts in different spaces: embed both with one of them")
        return sum(a * b for a, b in zip(self.vector, other.vector, strict=True))


@dataclass(frozen=True)
class EmbeddedTexts:
    """What an embedder gives for a handful of texts."""

    vectors: tuple[Vector, ...]
    usage: Usage = field(default_factory=Usage)


class Embedder(Protocol):
    """Raises what a provider raises, and never retries by itself."""

    name: str
    label: str
    paid: bool
    """Whether a call is one of a served model: such calls go through the ledger."""
    most_texts: int
    """Texts per call."""

    async def place(self, texts: Sequence[str]) -> EmbeddedTexts:
        """Vectors in the order of the texts."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...
