"""Who is asked where a gate wants opinions: the offline author, who knows each domain, as tester
and checker."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import offline as author
from envmill.lake.journal import Journal
from envmill.models.gateway import Gateway
from envmill.models.offline import Offline
from envmill.models.session import ModelSession


@asynccontextmanager
async def open_readers(seed: int) -> AsyncGenerator[ModelSession]:
    with TemporaryDirectory() as folder:
        provider, journal = Offline(author.answer, 0.0), Journal(Path(folder))
        try:
            yield ModelSession(Gateway(provider, journal, {}, seed), "environments-verify", "env_x")
        finally:
            await provider.close()
            await journal.close()
