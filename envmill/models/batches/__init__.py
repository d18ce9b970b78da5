"""Carriers: who takes a batch of requests away and brings the replies back."""

from collections.abc import Callable
from pathlib import Path

from envmill.base.settings import Endpoint
from envmill.models.anthropic import Messages
from envmill.models.batches.anthropic import Anthropic
from envmill.models.batches.base import Carrier
from envmill.models.batches.lines import Lines
from envmill.models.batches.openai import OpenAI
from envmill.models.connection import ApiConnection
from envmill.models.dialect import Dialect
from envmill.models.openai import Chat

_CHAT = "/v1/chat/completions"
"""Requests of a batch name their path from the root, whatever the base URL is."""

DIALECTS: dict[str, type[Dialect]] = {"openai": Chat, "anthropic": Messages, "lines": Chat}
"""Carrier → the format of its requests and replies."""

CARRIERS: dict[str, Callable[[Endpoint, Path], Carrier]] = {
    "openai": lambda endpoint, _: OpenAI(ApiConnection("openai", endpoint), _CHAT),
    "anthropic": lambda endpoint, _: Anthropic(ApiConnection("anthropic", endpoint)),
    "lines": lambda _, folder: Lines(folder, _CHAT),
}
"""Carrier → what opens it, given where it is asked and a folder of the run's."""


def folder_of(home: Path, run: str) -> Path:
    """Where batches of plain files lie."""
    return home / "batches" / run
