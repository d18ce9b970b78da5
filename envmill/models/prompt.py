"""A prompt: a hashed text file with named slots."""

import re
from dataclasses import dataclass
from pathlib import Path

from envmill.errors import SettingsError
from schemas.base import Contract, canonical_json, digest

_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Prompt:
    """Text sent to a model, with `{{slots}}` named after the fields of its input record."""

    name: str
    text: str
    hash: str

    @classmethod
    def load(cls, path: Path) -> "Prompt":
        text = path.read_text(encoding="utf-8")
        return cls(path.stem, text, digest(text))

    def render(self, inputs: Contract, reply: type[Contract]) -> str:
        """Fill every slot; a slot nobody fills is a defect of the prompt, not of the model."""
        values = inputs.model_dump(mode="json") | {"reply_schema": reply.model_json_schema()}

        def fill(slot: re.Match[str]) -> str:
            if slot[1] not in values:
                raise SettingsError(
                    f"Prompt {self.name} has the slot {{{{{slot[1]}}}}}, which its input lacks; it knows {', '.join(values)}."
                )
            value = values[slot[1]]
            return value if isinstance(value, str) else canonical_json(value)

        return _SLOT.sub(fill, self.text)
