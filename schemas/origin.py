"""Provenance: who made a record, from what. Never part of an id."""

from schemas.base import Contract


class Origin(Contract):
    """Where a made record came from."""

    recipe: str
    """Recipe that asked for it."""
    seed: str
    """Seed id at the root of its lineage."""
    provider: str
    """Provider that answered; `offline` is plumbing, never a measure of difficulty."""
    model: str
    """Model name the provider used."""
    prompt: str
    """Prompt name."""
    prompt_hash: str
    """Hash of the prompt's text, empty when no prompt was involved."""
