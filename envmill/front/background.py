"""An event loop in a thread of its own: the engine is asynchronous, a user's program or notebook
need not be.

program ─► run(coroutine) ─► loop's thread ─► result or error
"""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines from synchronous code."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="envmill", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine. An interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def is_open(self) -> bool:
        """Whether the loop still runs."""
        return not self._loop.is_closed()

    def close(self) -> None:
        """Stop the loop. Close what it holds first."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Held(Generic[T]):
    """A context that stays open in the background. One task enters and leaves it, as task groups
    demand."""

    def __init__(self, background: BackgroundLoop, context: AbstractAsyncContextManager[T]) -> None:
        self._background, self._context = background, context
        self.value = background.run(self._open())

    async def _open(self) -> T:
        self._leave = asyncio.Event()
        opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep(opened))
        return await opened

    async def _keep(self, opened: asyncio.Future[T]) -> None:
        try:
            async with self._context as value:
                opened.set_result(value)
                await self._leave.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    def close(self) -> None:
        """Leave the context; what leaving raises is raised here."""
        self._background.run(self._close())

    async def _close(self) -> None:
        self._leave.set()
        await self._task
