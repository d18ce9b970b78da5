"""What the adapter takes of SkyRL-gym, where it is not installed."""

from typing import Any

registry: dict[str, Any] = {}


def register(id: str, entry_point: Any) -> None:
    assert id not in registry
    registry[id] = entry_point


def make(id: str, **words: Any) -> Any:
    return registry[id](**words)
