"""Documents in PostgreSQL: a row each, changed under its lock.

Calls come from any thread; one thread of our own runs the driver's event loop.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (asyncpg ships no types)

import asyncio
import json
import threading
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from envmill.base.errors import CoordinationError
from envmill.lake.coordination.base import Document, T
from envmill.lake.coordination.remote import Unreachable

FORMAT = 1
"""Of the documents. Versions that write another cannot share a run."""
_TABLE = "envmill_coordination"
_LOCK = 4270_0001  # of nobody else in the server's database: held while the table is made
_SECONDS = 20.0  # for a connection, and for one statement: a partition must not hang a worker


class PostgresDocuments:
    """Of one process. The table is made when it is missing."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("postgresql+asyncpg://", "postgresql://", 1)
        parts = urlsplit(self._url)
        self.place = f"postgresql://{parts.hostname or ''}:{parts.port or 5432}{parts.path}"
        self._password = parts.password or ""
        self._loop = asyncio.new_event_loop()
        self._pool: Any = None
        self._opening = asyncio.Lock()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="envmill-postgres", daemon=True
        )
        self._thread.start()

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        return asyncio.run_coroutine_threadsafe(self._guard(name, edit), self._loop).result()

    def identify(self) -> str:
        return self.change("", lambda document: str(document["id"]))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _guard(self, name: str, edit: Callable[[Document], T]) -> T:
        """Errors of the driver as ours; those of the edit as they are."""
        import asyncpg

        away = (
            OSError,
            TimeoutError,
            asyncpg.PostgresConnectionError,
            asyncpg.InterfaceError,
            asyncpg.OperatorInterventionError,
        )
        again = (
            *away,
            asyncpg.TooManyConnectionsError,
            asyncpg.SerializationError,
            asyncpg.DeadlockDetectedError,
        )
        try:
            async with asyncio.timeout(2 * _SECONDS):
                return await self._change(name, edit)
        except again as error:
            raise Unreachable(self._mask(error)) from None
        except asyncpg.PostgresError as error:
            raise CoordinationError(
                f"{self.place} refuses to share a run's leases and budgets: {self._mask(error)}. Check ENVMILL_DATABASE: the user "
                "must be allowed to make and change tables. A full disk of the database shows here, too."
            ) from None

    def _mask(self, error: Exception) -> str:
        text = f"{type(error).__name__}: {error}"
        return text.replace(self._password, "***") if self._password else text

    async def _change(self, name: str, edit: Callable[[Document], T]) -> T:
        pool = await self._open()
        async with pool.acquire() as connection, connection.transaction():
            document = await _lock(connection, name)
            before = json.dumps(document)
            result = edit(document)
            if not document:
                await connection.execute(f"delete from {_TABLE} where name = $1", name)
            elif (after := json.dumps(document)) != before:
                await connection.execute(
                    f"update {_TABLE} set document = $2 where name = $1", name, after
                )
            return result

    async def _open(self) -> Any:
        import asyncpg

        async with self._opening:
            if self._pool is None:
                pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=4,
                    timeout=_SECONDS,
                    command_timeout=_SECONDS,
                    statement_cache_size=0,
                )
                async with pool.acquire() as connection, connection.transaction():
                    await _prepare(connection, self.place)
                self._pool = pool
            return self._pool

    async def _close(self) -> None:
        if self._pool is not None:
            self._pool.terminate()


async def _prepare(connection: Any, place: str) -> None:
    """Make the table; refuse one that another version writes."""
    await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
    await connection.execute(
        f"create table if not exists {_TABLE} (name text primary key, document text not null)"
    )
    await connection.execute(
        f"insert into {_TABLE} values ('', $1) on conflict do nothing",
        json.dumps({"id": uuid.uuid4().hex, "format": FORMAT}),
    )
    told = json.loads(await connection.fetchval(f"select document from {_TABLE} where name = ''"))
    if told.get("format") != FORMAT:
        raise CoordinationError(
            f"{place} is used by another version of EnvMill (documents of format {told.get('format')}, here {FORMAT}). "
            "Run the same version in all processes, or give this one a database of its own by ENVMILL_DATABASE."
        )


async def _lock(connection: Any, name: str) -> Document:
    """The document, ours until the transaction ends; its row is made when it is missing."""
    asked = f"select document from {_TABLE} where name = $1 for update"
    while (text := await connection.fetchval(asked, name)) is None:
        await connection.execute(
            f"insert into {_TABLE} values ($1, '{{}}') on conflict do nothing", name
        )
    return json.loads(text)
