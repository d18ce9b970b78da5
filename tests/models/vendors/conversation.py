"""A request to a model, whatever its wire format, and what an unscripted model says to it."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from tests.models.vendors.script import Turn

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class Conversation:
    """What all formats have in common."""

    model: str
    text: str
    """Every text of every message, in order."""
    last: str
    """The last message."""
    schema: dict[str, Any] | None = None
    """Schema of a native structured reply."""
    limit: int = 0
    """Most output tokens; 0 for none."""
    stream: bool = False
    logprobs: bool = False
    token_ids: bool = False
    seed: int | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([self.model, self.text, self.seed]).encode()).hexdigest()[
            :16
        ]

    def count_input(self, turn: Turn) -> int:
        return turn.input if turn.input >= 0 else count_tokens(self.text)

    def count_output(self, turn: Turn) -> int:
        said = (
            turn.text + turn.reasoning + "".join(name + arguments for name, arguments in turn.tools)
        )
        return turn.output if turn.output >= 0 else count_tokens(said)

    def hear(self, turn: Turn | None) -> Turn:
        """The scripted turn or the model's own, cut at the limit."""
        said = turn or Turn(
            json.dumps(imagine(self.schema, self.schema)) if self.schema else "Understood."
        )
        if self.limit and count_tokens(said.text) > self.limit:
            return replace(said, text=said.text[: self.limit * _CHARS_PER_TOKEN], stop="length")
        return replace(said, stop="tool") if said.tools and said.stop == "end" else said


def count_tokens(text: str) -> int:
    """Four characters a token, rounded up."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def flatten(content: Any) -> str:
    """The text of a message's content: a string, or parts that hold text or results."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            flatten(part.get("text", part.get("content", "")))
            for part in content
            if isinstance(part, dict)
        )
    return ""


def imagine(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """A value that fits a schema, always the same."""
    if reference := schema.get("$ref"):
        return imagine(whole["$defs"][reference.rsplit("/", 1)[1]], whole)
    for choice in (*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())):
        return choice
    for choice in schema.get("anyOf", ()):
        return imagine(choice, whole)
    match schema.get("type"):
        case "object":
            return {
                name: imagine(field, whole) for name, field in schema.get("properties", {}).items()
            }
        case "array":
            return [imagine(schema.get("items", {}), whole)] * schema.get("minItems", 1)
        case "integer" | "number":
            return schema.get("minimum", 3)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return "word"
