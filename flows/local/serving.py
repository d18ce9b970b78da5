"""Prefect's server as `envmill up` starts it: its garbage is collected beside the event loop, never on it, and writers take turns.

A cursor that dies in a cycle resets its statement, and waits for a connection on which another thread may wait for SQLite's write lock.
Collected on the loop's own thread, that wait stops whoever holds the lock from letting go: everything stands still until SQLite gives up
after a minute. Thirty runs ordered at once were enough.
"""

import gc
import threading
from typing import Any

YOUNG = 1.0
FULL = 60
"""Of so many sweeps, one goes over everything."""


def make_app() -> Any:
    """The application that uvicorn serves. Importing it takes seconds and makes little garbage."""
    gc.disable()
    from prefect.settings import get_current_settings

    url = get_current_settings().server.database.connection_url
    if url and (address := url.get_secret_value()).startswith("sqlite"):
        from flows.local.writers import take_turns

        take_turns(address)
    from prefect.server.api.server import create_app

    app = create_app()
    gc.collect()
    gc.freeze()  # what was imported stays: a full sweep need not look at it
    threading.Thread(target=sweep, args=(threading.Event(),), name="garbage", daemon=True).start()
    return app


def sweep(stop: threading.Event, pace: float = YOUNG) -> None:
    """Until told to stop."""
    turn = 0
    while not stop.wait(pace):
        turn += 1
        gc.collect(1 if turn % FULL else 2)
