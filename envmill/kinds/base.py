"""What every kind of environment must be able to do."""

from collections.abc import Mapping
from typing import Protocol

from schemas.database import Policy, Table
from schemas.environment import Effect, Tool

FORBIDDEN_NAMES = frozenset(("reset", "step", "state", "close", "get_reward", "verify", "seed_session", "aggregate_metrics", "mcp"))
"""Tool names that collide with the methods of the consumers' frameworks; so do `_x` and anything with `__`."""


class Kind(Protocol):
    """A kind of environment; each is a module of this folder."""

    def derive_tools(self, source: str, class_name: str, effects: Mapping[str, Effect]) -> list[Tool]:
        """Read the interface out of the source, or raise BuildError. The source is never executed."""
        ...

    def derive_tables(self, files: Mapping[str, str], policies: Mapping[str, Policy | float]) -> list[Table]:
        """Tables of the state with each column's policy, or BuildError; none where state is JSON."""
        ...


def is_forbidden(name: str) -> bool:
    """Whether a tool may not bear this name."""
    return name in FORBIDDEN_NAMES or name.startswith("_") or "__" in name
