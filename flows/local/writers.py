"""Writers of the server's SQLite file take turns in the order in which they ask, on the event loop
and not in SQLite.

SQLite makes writers sleep and try again: with twenty of them, one that is out of luck is told after
a minute that the database is locked.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prefect.server.database.configurations import AioSqliteConfiguration
from prefect.server.database.dependencies import MODELS_DEPENDENCIES
from sqlalchemy.ext.asyncio import AsyncSession, AsyncSessionTransaction

PATIENCE = 60.0
"""Seconds after which SQLite decides: somebody who writes within a turn of its own may not wait for
ever."""


class InTurn(AioSqliteConfiguration):
    """Prefect's own configuration, but for the turns."""

    def __init__(self, connection_url: str, patience: float = PATIENCE) -> None:
        super().__init__(connection_url=connection_url)
        self._turn = asyncio.Lock()
        self._patience = patience

    @asynccontextmanager
    async def begin_transaction(
        self, session: AsyncSession, with_for_update: bool = False
    ) -> AsyncIterator[AsyncSessionTransaction]:
        mine = with_for_update and await self._take_turn()
        try:
            async with super().begin_transaction(session, with_for_update) as transaction:
                yield transaction
        finally:
            if mine:
                self._turn.release()

    async def _take_turn(self) -> bool:
        try:
            async with asyncio.timeout(self._patience):
                return await self._turn.acquire()
        except TimeoutError:
            return False


def take_turns(connection_url: str) -> None:
    """From now on, in this process."""
    MODELS_DEPENDENCIES["database_config"] = InTurn(connection_url)
