"""Prefect's server as `envmill up` starts it: behind our guard; its garbage is collected beside the
event loop, never on it, and writers take turns.

A cursor that dies in a cycle resets its statement, and waits for a connection on which another
thread may wait for SQLite's write lock. Collected on the loop's own thread, that wait stops whoever
holds the lock from letting go: everything stands still until SQLite gives up after a minute. Thirty
runs ordered at once were enough.
"""

import gc
import os
import threading
from typing import Any

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from flows.local.guard import ServerGuard
from flows.local.pacing import slow_down
from flows.local.polls import PollHold, find_next_run
from flows.local.private import read_secret

YOUNG = 1.0
FULL = 60
"""Of so many sweeps, one goes over everything."""
LEAST = 5_000
"""Objects since the last sweep that make one worth its time."""
REST = 30


def make_app() -> Any:
    """The application that uvicorn serves. Importing it takes seconds and makes little garbage."""
    gc.disable()
    from prefect.settings import get_current_settings

    url = get_current_settings().server.database.connection_url
    if url and (address := url.get_secret_value()).startswith("sqlite"):
        from flows.local.writers import take_turns

        take_turns(address)
    slow_down()
    from prefect.server.api.server import create_app

    settings = Settings.read(os.environ)
    auth = read_secret(settings.home)
    if not auth:
        raise SettingsError(f"{settings.home} holds no secret. Start the server with `envmill up`.")
    app = ServerGuard(PollHold(create_app(), find_next_run), auth, settings.origins)
    gc.collect()
    gc.freeze()  # what was imported stays: a full sweep need not look at it
    threading.Thread(target=sweep, args=(threading.Event(),), name="garbage", daemon=True).start()
    return app


def sweep(stop: threading.Event, pace: float = YOUNG, least: int = LEAST) -> None:
    """Until told to stop. A server at rest is swept once in REST paces."""
    turn = rested = 0
    while not stop.wait(pace):
        rested += 1
        if gc.get_count()[0] >= least or rested >= REST:
            turn, rested = turn + 1, 0
            gc.collect(1 if turn % FULL else 2)
