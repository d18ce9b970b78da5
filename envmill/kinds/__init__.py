"""The kinds of environment, by name."""

from envmill.kinds import sql, stateful, terminal
from envmill.kinds.base import Kind

KINDS: dict[str, Kind] = {
    "stateful": stateful,
    "sql": sql,
    "terminal": terminal,
}
