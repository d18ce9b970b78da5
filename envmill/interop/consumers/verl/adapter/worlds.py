# pyright: basic, reportMissingImports=false
"""The set of this package, opened once a process, and what a rollout left behind."""

import asyncio
import atexit
from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import Any

from .sessions import JailError, ScenarioSession, ScenarioSet, open_set

_OPENING = Lock()


class Trail:
    """A rollout's session. To other processes it goes as a plain dictionary: scenario, moves, hash
    of the state, last words."""

    def __init__(self, scenario: str, messages: list[dict[str, Any]]) -> None:
        self.scenario, self._messages = scenario, messages
        self.outage = ""
        self._session = begin(scenario)
        self._turn = asyncio.Lock()
        """verl starts the calls of one message together. They are made in their order."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a call is answered."""
        async with self._turn:
            return await asyncio.to_thread(self._call, name, arguments)

    def describe(self) -> dict[str, Any]:
        last = self._messages[-1] if self._messages else {}
        words = (
            last.get("content")
            if last.get("role") == "assistant" and not last.get("tool_calls")
            else ""
        )
        return {
            "scenario": self.scenario,
            "moves": list(self._session.moves),
            "state_hash": self._session.state_hash,
            "words": words or "",
            "outage": self.outage,
        }

    def close(self) -> None:
        self._session.close()

    def __reduce__(self) -> Any:
        return dict, (self.describe(),)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where the jail breaks down, the moves are made again in another one: programs give the
        same replies to the same calls."""
        try:
            return self._session.call(name, arguments)
        except JailError:
            moves = self._session.moves
        try:
            self._session = begin(self.scenario)
            for move in moves:
                self._session.call(move["name"], move["arguments"])
            return self._session.call(name, arguments)
        except JailError as error:
            self.outage = str(error)
            raise


@cache
def _open_once() -> ScenarioSet:
    found = open_set()
    atexit.register(found.close)
    return found


def open_worlds() -> ScenarioSet:
    with _OPENING:
        return _open_once()


def begin(scenario: str) -> ScenarioSession:
    """Once more where the jail broke down: the set starts another."""
    try:
        return open_worlds().begin(scenario)
    except JailError:
        return open_worlds().begin(scenario)
