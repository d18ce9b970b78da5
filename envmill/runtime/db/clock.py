"""SQLite's clock and dice, taken from the session's world."""

import datetime
import sqlite3
from collections.abc import Callable
from typing import Any

from envmill.runtime.world import MICRO, WORLD

_MOMENTS: dict[str, tuple[int, ...]] = {
    "date": (0,), "time": (0,), "datetime": (0,), "julianday": (0,), "unixepoch": (0,), "strftime": (1,), "timediff": (0, 1),
}  # fmt: skip
"""Time functions, and which of their arguments are moments."""
_KEYWORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
_JULIAN_EPOCH = 210_866_760_000_000
"""1970 as SQLite counts: milliseconds since noon of November 24, 4714 B.C."""
_EPOCH = datetime.datetime(1970, 1, 1)  # SQLite's moments have no zone
_LARGEST_BLOB = 1024 * 1024


def julian_milliseconds() -> int:
    """The virtual time as a VFS tells it."""
    return _JULIAN_EPOCH + WORLD.read_clock() * 1000 // MICRO


def sample_integer() -> int:
    """`random()`: any integer of 64 bits."""
    return WORLD.rng().getrandbits(64) - 2**63


def sample_blob(size: Any) -> bytes:
    """`randomblob(n)`: at least one byte."""
    wanted = int(size) if isinstance(size, int | float) else 1
    return WORLD.rng().randbytes(min(max(wanted, 1), _LARGEST_BLOB))


def install_clock(connection: sqlite3.Connection) -> None:
    """Time functions for a connection that has no VFS: they ask a plain connection, with `now`
    replaced by the moment."""
    plain = sqlite3.connect(":memory:", check_same_thread=False)
    known = {name for (name,) in plain.execute("select name from pragma_function_list")}
    for name in known.intersection(_MOMENTS):
        connection.create_function(name, -1, _virtual(plain, name), deterministic=True)
    for keyword, name in _KEYWORDS.items():
        connection.create_function(keyword, 0, _virtual(plain, name), deterministic=True)


def _virtual(plain: sqlite3.Connection, name: str) -> Callable[..., Any]:
    places = _MOMENTS[name]

    def ask(*arguments: Any) -> Any:
        given = list(arguments)
        if len(given) == places[0]:
            given.append("now")  # left out, it is meant
        for place in places:
            if (
                place < len(given)
                and isinstance(given[place], str)
                and given[place].lower() == "now"
            ):
                given[place] = _render_now()
        return plain.execute(f"select {name}({', '.join('?' * len(given))})", given).fetchone()[0]

    return ask


def _render_now() -> str:
    moment = _EPOCH + datetime.timedelta(milliseconds=WORLD.read_clock() * 1000 // MICRO)
    return moment.isoformat(" ", "milliseconds")
