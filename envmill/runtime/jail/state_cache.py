"""Initial states a process was sent before, so that the next reset on one of them names it by a key
alone.

Sender and receiver keep the same stock: the same keys, in the same order, under the same bounds.
"""

from collections import OrderedDict
from typing import Any

from envmill.runtime.jail.wire import Message
from envmill.runtime.start import Packed, pack

PLACES = 8
LARGE = 256 * 1024
"""Bytes from which a state has a place of its own, which the next large one takes: of those, one is
enough to hold."""


class KnownStates:
    """Which states are in a stock, as the sender knows it."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()
        self._large = ""

    def holds(self, key: str) -> bool:
        """Whether it is there; if so, it is the last to go."""
        if key in self._keys:
            self._keys.move_to_end(key)
            return True
        return bool(key) and key == self._large

    def __contains__(self, key: str) -> bool:
        """Whether it is there, asked by one side alone: which one goes next is the other's affair,
        too, and stays as it is."""
        return key in self._keys or (bool(key) and key == self._large)

    def copy(self) -> "KnownStates":
        """What a process knows that is forked from one that knows this."""
        copy = KnownStates()
        copy._keys, copy._large = self._keys.copy(), self._large
        return copy

    def put(self, key: str, *, large: bool = False) -> str:
        """Add one; the key that had to go for it, or nothing."""
        if large:
            gone, self._large = self._large, key
            return gone
        self._keys[key] = None
        return self._keys.popitem(last=False)[0] if len(self._keys) > PLACES else ""


class StateCache:
    """The states themselves, packed."""

    def __init__(self) -> None:
        self._keys = KnownStates()
        self._states: dict[str, Packed] = {}

    def fetch(self, step: Message) -> Any:
        """The state a reset starts from: sent along, or kept from an earlier one and then
        packed."""
        key = step.get("key", "")
        if "state" not in step:
            self._keys.holds(key)
            return self._states[key]
        if key and not self._keys.holds(key):
            gone = self._keys.put(key, large=step.get("large", False))
            self._states.pop(gone, None)
            self._states[key] = Packed(pack(step["state"]))
            return self._states[key]
        return step["state"]

    def learn(self, step: Message) -> None:
        """Keep a state for those who will be forked from here: they find it unpacked."""
        # Packed first: a state that cannot be leaves the stock as its sender knows it.
        found = Packed(pack(step["state"]))
        found.unpack()
        gone = self._keys.put(step["key"], large=step.get("large", False))
        self._states.pop(gone, None)
        self._states[step["key"]] = found
