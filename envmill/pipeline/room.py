"""Room: how many subjects a process works on at once, and so holds in memory."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Room:
    """Places for subjects that are worked on; whoever waits first is let in first."""

    def __init__(self, places: int) -> None:
        self._places, self._free = places, places
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, count: int) -> AsyncGenerator[None]:
        """So many places; of more than there are all."""
        count = min(count, self._places)
        if self._waiting or count > self._free:
            self._waiting.append((count, turn := asyncio.get_running_loop().create_future()))
            try:
                await turn
            except asyncio.CancelledError:
                self._leave(count, turn)
                raise
        else:
            self._free -= count
        try:
            yield
        finally:
            self._give(count)

    def _leave(self, count: int, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self._give(count)
        else:
            self._waiting = deque(one for one in self._waiting if one[1] is not turn)

    def _give(self, count: int) -> None:
        self._free += count
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= wanted
                turn.set_result(None)
