"""The kinds of environment, by name."""

from envmill.kinds import stateful
from envmill.kinds.base import Kind

KINDS: dict[str, Kind] = {
    "stateful": stateful,
}
