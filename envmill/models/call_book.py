"""Calls whose replies are known, on disk: what a run asked is kept for as long as the run, and grows with it."""

import pickle
from collections.abc import Iterable

from envmill.lake.spool import RowSpool
from schemas.ledger import ModelCall

Key = tuple[str, int]
"""Request hash and sample."""


class CallBook:
    """As much of a dictionary as the door needs."""

    def __init__(self, calls: Iterable[ModelCall] = ()) -> None:
        """Of several answers to one request the last counts."""
        self._shelf = RowSpool().shelve(pickle.dumps, pickle.loads)
        self._shelf.put_all((_name((one.request, one.sample)), one) for one in calls if one.answers)

    def get(self, key: Key) -> ModelCall | None:
        """The row that answers a request."""
        return self._shelf.get(_name(key))

    def setdefault(self, key: Key, call: ModelCall) -> ModelCall:
        """Note an answer, unless one is known."""
        if (known := self.get(key)) is not None:
            return known
        self._shelf.put(_name(key), call)
        return call

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}"
