"""Which model is meant: `provider`, `provider:model`, or `provider:model@endpoint`."""

import re
from dataclasses import dataclass, replace

from envmill.base.errors import SettingsError

BATCH = "batch-"
"""How the names of providers begin that answer through batches."""

_ENDPOINT = re.compile(r"(?P<model>.+)@(?P<endpoint>[a-z][a-z0-9_]*)")


@dataclass(frozen=True)
class Spec:
    """A model as a run names it."""

    provider: str
    """How it is asked: `openai`, `anthropic`, `offline`, …"""
    model: str = ""
    """Name the server knows it by."""
    endpoint: str = ""
    """Server, by the name its settings give it; empty for the vendor's."""

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """An `@` before a date is part of the model's name."""
        provider, _, model = text.partition(":")
        found = _ENDPOINT.fullmatch(model)
        spec = cls(provider, found["model"], found["endpoint"]) if found else cls(provider, model)
        if not provider or model.startswith("@"):
            raise SettingsError(
                f"{text!r} names no model: write it like openai:gpt-x, or "
                "openai:my-model@my_server."
            )
        return spec

    @property
    def direct(self) -> "Spec":
        """The same model asked without a batch."""
        return replace(self, provider=self.provider.removeprefix(BATCH))

    def __str__(self) -> str:
        return (
            self.provider
            + (f":{self.model}" if self.model else "")
            + (f"@{self.endpoint}" if self.endpoint else "")
        )
