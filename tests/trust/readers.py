"""Who is asked where a gate wants opinions: the offline author, who knows each domain, as tester and checker."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from envmill import author
from envmill.lake.journal import Journal
from envmill.models.account import Account
from envmill.models.door import Door
from envmill.models.offline import Offline


@asynccontextmanager
async def open_readers(seed: int) -> AsyncGenerator[Account]:
    with TemporaryDirectory() as folder:
        provider, journal = Offline(author.answer, 0.0), Journal(Path(folder))
        try:
            yield Account(Door(provider, journal, {}, seed), "environments-verify", "env_x")
        finally:
            await provider.close()
            await journal.close()
